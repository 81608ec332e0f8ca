/**
 * Fits the time of a transfer over its size: continuous, never falling, at most CURVE_PIECES
 * straight pieces.
 *
 * Reason for a continuous curve: a step, as where a driver changes to another kind of copy, lies at
 * an unknown size. A steep piece between the two measured sizes around it expresses exactly that.
 * Reason for relative residuals: 4 KiB take microseconds and 1 GiB milliseconds, and both are to be
 * predicted to a few percent.
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

/* Time of a transfer from from_bytes up to the next piece: t0_ns + bytes * ns_per_byte. The first
 * piece has from_bytes 0 and a t0_ns that is not negative. Later ones may have a negative one,
 * where a transfer slows down with its size. The slope ns_per_byte is not negative, and above 0 for
 * the last piece. */
struct curve_piece {
    int64_t from_bytes;
    double t0_ns, ns_per_byte;
    /* half the 95 % interval of one more transfer, relative to its time. From the intervals and the
     * misfit of the sizes in this piece; of all sizes where it has fewer than three. NAN when a
     * size has no interval */
    double spread;
    /* the part of spread from the misfit: a mean of many transfers does not reduce it */
    double misfit_spread;
};

struct curve_fit {
    struct curve_piece piece[CURVE_PIECES];
    size_t piece_count;
    double residual; /* the largest |fitted time / measured time - 1| of the sizes */
    /* half the width of the 95 % interval of the last piece's ns_per_byte. From the intervals and
     * the misfit of the sizes; NAN when a size has no interval */
    double last_half;
};

/* Fits samples, which ascend strictly by bytes. Two sizes give one piece, three to five up to two,
 * six and more up to three; fewer where more would only follow the noise. False without a result:
 * fewer than two sizes, more than CURVE_SIZES_MAX, or times that do not grow towards the largest
 * sizes.
 *
 * Exact search: break points are at measured sizes or, between two of them, where the lines fitted
 * to both sides meet. For given break points the best non-negative slopes are found by trying every
 * set of slopes that are zero. The number of pieces minimizes the Bayesian information criterion
 * (G. Schwarz, Annals of Statistics 6, 1978), in which misfits below CURVE_NOISE count as noise. */
bool curve_fit(const struct curve_sample *samples, size_t count, struct curve_fit *ret_fit);

#define CURVE_NOISE 0.005

double curve_fit_time_ns(const struct curve_fit *fit, double bytes);

/* Returns the time of one transfer alone by the caller's clock, for one that takes queued_ns in a
 * queue: t0_call_ns - t0_queue_ns more. NAN when an argument is.
 *
 * Some engines are faster alone than one behind another. An H200's engine that reads a peer's
 * memory takes 9 us and 12.6 us for any size below 1 MiB. The reason is that it polls for the end
 * in steps of 9.3 us. The difference is then negative, and shrinks to 0 as the bytes take longer.
 * Sizes that take less than t0_queue_ns in a queue, which contradicts it, take t0_call_ns alone.
 */
double curve_fit_called_ns(double queued_ns, double t0_call_ns, double t0_queue_ns);

/* Returns half the 95 % interval of one more transfer of that size, relative to its time; NAN
 * unknown. */
double curve_fit_spread(const struct curve_fit *fit, double bytes);

/* Returns the same of the mean of count more transfers of that size (1 and more). */
double curve_fit_spread_mean(const struct curve_fit *fit, double bytes, double count);
