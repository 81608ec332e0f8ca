/**
 * Curves: the time of a transfer over its size, for each transfer metric, pair of places and axes
 * that was measured at several sizes.
 *
 * Made from a snapshot's values (cost/derive.h) and constant from then on. Only cells of transfer
 * metrics are read; values of other metrics cost nothing.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/curve_fit.h"
#include "node/graph.h"
#include "node/metric.h"
#include "node/overheads.h"
#include "node/values.h"

struct curve {
    enum metric metric;
    place_id from, to;
    char *axes; /* canonical text without bytes, owned */
    struct curve_fit fit;
    /* start-up time, measured by the caller's clock, and for a queued transfer; NAN unknown */
    double t0_call_ns, t0_queue_ns;
    /* start-up times of chained transfers and their costs on the caller's thread, see enum
     * transfer_clock (node/transfer.h); NAN unknown */
    double t0_chain_ns, t0_behind_ns, t0_launch_ns, t0_end_ns;
    /* smallest size that reaches 80 % of the highest rate; NAN unknown */
    double b80_bytes;
    uint32_t n;                      /* the fewest repetitions of a size; 0 unknown */
    int64_t measured_at_s;           /* of the newest size; 0 unknown */
    int64_t least_bytes, most_bytes; /* of the measured sizes */
    size_t size_count;
};

struct curves {
    struct curve *item; /* ascending by metric, from, to, axes */
    size_t count;
    /* owned: overheads of all transfers of the values, with a curve or without */
    struct overheads *overheads;
};

/* Makes curves from the measured cells of a finished set, which must outlive them. Cells of one
 * transfer with more than CURVE_SIZES_MAX sizes are thinned evenly; both ends stay.
 *
 * The t0s are the measured ones (transfer_overhead). A core that copies by itself has neither
 * launch nor queue: without a measurement both are the first piece's t0. B80 = 4 T0 Wmax with
 * t0_call: N. Chalmers and T. Warburton, "Portable high-order finite element kernels I: Streaming
 * Operations". NULL when out of memory. */
struct curves *curve_make_all(const struct values *values, const struct graph *graph);
void curve_free_all(struct curves *curves); /* NULL is fine */

/* Returns the curve of axes without bytes, canonical; NULL when there is none. Binary search. */
const struct curve *curve_find(const struct curves *curves, enum metric metric, place_id from,
                               place_id to, const char *axes);

/* Returns all curves of a metric: a range of item. */
size_t curve_range(const struct curves *curves, enum metric metric, const struct curve **ret_first);

/* Returns the time of a transfer. The last piece continues above the largest measured size, the
 * first below the smallest. */
double curve_time_ns(const struct curve *curve, double bytes);
double curve_wmax_bytes_per_s(const struct curve *curve); /* rate of the last piece */

/* Finishes values and adds missing measured values of bytes=large. The value is the rate of the
 * last piece of the curve through the measured sizes, with an interval where every size has one.
 * None is added where the largest size reaches less than half of that rate, or the interval has no
 * upper end. Small sizes do not determine large ones. False when out of memory; values is then
 * unchanged, or lacks some. */
bool curve_fill_large(struct values *values, const struct graph *graph);
