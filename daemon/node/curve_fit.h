/**
 * Fits the time of a transfer over its size: continuous, never falling, at most CURVE_PIECES
 * straight pieces.
 *
 * Why continuous: a step, as where a driver changes over to another way of copying, lies somewhere
 * between two measured sizes, and nothing says where. A steep piece from one size to the other says
 * just that. Why relative residuals: 4 KiB take microseconds and 1 GiB milliseconds, and both are
 * to be predicted to some percent.
 *
 * Pure functions of their arguments.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CURVE_PIECES    3
#define CURVE_SIZES_MAX 40 /* the search takes time in the cube of this */

struct curve_sample {
    int64_t bytes;  /* above 0 */
    double ns;      /* above 0 */
    double half_ns; /* half the width of its 95 % interval; NAN unknown */
    uint32_t n;     /* repetitions behind it; 0 unknown */
};

/* time = t0_ns + bytes * ns_per_byte from from_bytes up to the next piece. Of the first piece
 * from_bytes is 0 and t0_ns is not negative; of later ones it may be, where a transfer slows down
 * with its size. ns_per_byte is not negative, and above 0 for the last piece. */
struct curve_piece {
    int64_t from_bytes;
    double t0_ns, ns_per_byte;
    /* half the 95 % interval of one more transfer, relative to its time: from the intervals of
     * the sizes in this piece, and how far the curve passes them by (of all sizes where it has
     * fewer than three); NAN when a size has no interval */
    double spread;
    /* of that, what the curve passes the sizes by: many transfers do not even it out */
    double passed_by;
};

struct curve_fit {
    struct curve_piece piece[CURVE_PIECES];
    size_t piece_count;
    double residual; /* the largest |fitted time / measured time - 1| of the sizes */
    /* half the width of the 95 % interval of the last piece's ns_per_byte, from the intervals of
     * the sizes and how far the curve passes them by; NAN when a size has no interval */
    double last_half;
};

/* samples ascend strictly by bytes. Two sizes give one piece, three to five up to two, six and more
 * up to three; fewer where more would only follow the noise. False when nothing can be said: fewer
 * than two sizes, more than CURVE_SIZES_MAX, or times that do not grow towards the largest sizes.
 *
 * Exact search: break points are at measured sizes or, between two of them, where the lines fitted
 * to both sides meet; for given break points the best non-negative slopes are found by looking at
 * every choice of those that are zero. The number of pieces is the one with the least Bayesian
 * information criterion (G. Schwarz, Annals of Statistics 6, 1978), in which misfits below
 * CURVE_NOISE count as noise. */
bool curve_fit(const struct curve_sample *samples, size_t count, struct curve_fit *ret_fit);

#define CURVE_NOISE 0.005

double curve_fit_time_ns(const struct curve_fit *fit, double bytes);

/* What the caller's clock sees of one transfer alone that takes queued_ns in a queue: t0_call_ns -
 * t0_queue_ns more. Some engines are quicker alone than one behind another (an H200's that reads a
 * peer's memory: 9 us and 12.6 us, whatever it moves below 1 MiB, because the end of each is looked
 * for in steps of 9.3 us): then less, but what is waited for in a queue is used up as the bytes
 * take longer. NAN when an argument is. */
double curve_fit_called_ns(double queued_ns, double t0_call_ns, double t0_queue_ns);

/* Half the 95 % interval of one more transfer of that size, relative to its time; NAN unknown. */
double curve_fit_spread(const struct curve_fit *fit, double bytes);

/* The same of the mean of so many more of that size (1 and more). */
double curve_fit_spread_mean(const struct curve_fit *fit, double bytes, double count);
