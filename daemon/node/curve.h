/**
 * Curves: how long a transfer takes over its size, for each transfer metric, pair of places and
 * axes that was measured at several sizes.
 *
 * Made from a snapshot's values (snapshot_curves) and constant from then on. Only the cells of
 * transfer metrics are looked at: what a snapshot holds of other metrics costs nothing.
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
    /* what starting one costs: as the caller's clock sees it, and already queued; NAN not known */
    double t0_call_ns, t0_queue_ns;
    /* and behind another stream's event, one that happens only then, of the caller's thread, and
     * to see one more stream's end (node/transfer.h); NAN not known */
    double t0_chain_ns, t0_behind_ns, t0_launch_ns, t0_end_ns;
    /* from this size on a call gets 80 % of the highest rate; NAN not known */
    double b80_bytes;
    uint32_t n;                      /* the least repetitions behind a size; 0 unknown */
    int64_t measured_at_s;           /* of the newest size; 0 unknown */
    int64_t least_bytes, most_bytes; /* of the measured sizes */
    size_t size_count;
};

struct curves {
    struct curve *item; /* ascending by metric, from, to, axes */
    size_t count;
    /* owned: of all transfers of the values, with a curve or without */
    struct overheads *overheads;
};

/* From measured cells of a finished set, which must outlive them. Cells that say the same of more
 * than CURVE_SIZES_MAX sizes are thinned evenly, both ends kept.
 *
 * The t0s are those that were measured (transfer_overhead). Where a core copies by itself there is
 * neither launch nor queue: without a measurement both are the first piece's t0. B80 = 4 T0 Wmax
 * with t0_call: N. Chalmers and T. Warburton, "Portable high-order finite element kernels I:
 * Streaming Operations". NULL when out of memory. */
struct curves *curve_make_all(const struct values *values, const struct graph *graph);
void curve_free_all(struct curves *curves); /* NULL is fine */

/* axes without bytes, canonical. NULL when there is none. Binary search. */
const struct curve *curve_find(const struct curves *curves, enum metric metric, place_id from,
                               place_id to, const char *axes);

/* All of a metric: a range of item. */
size_t curve_range(const struct curves *curves, enum metric metric, const struct curve **ret_first);

/* Above the largest measured size the last piece goes on, below the smallest the first. */
double curve_time_ns(const struct curve *curve, double bytes);
double curve_wmax_bytes_per_s(const struct curve *curve); /* of the last piece */

/* Finishes values and adds, where sizes of a transfer were measured and bytes=large was not, the
 * rate of the last piece of the curve through those sizes as its measured value, with an interval
 * where every size has one. Not where the largest size gets less than half of that rate, or the
 * interval has no upper end: small sizes say nothing of large ones. False when out of memory;
 * values is then as it was, or lacks some. */
bool curve_fill_large(struct values *values, const struct graph *graph);
