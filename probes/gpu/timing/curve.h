/**
 * The curve of one transfer: its times by size in a queue, and the cost of starting it. Measured by
 * gpu/timing/rate.h, gpu/timing/call_overhead.h and gpu/timing/chain.h.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/timing/rate.h"

/* The cost of starting one operation, by each clock (docs/RECORD.md). 0: unknown; a record omits
 * values that are not above 0. */
struct gpu_starts {
    /* low to high: range of 95 % of single calls; n: their number, 0: not measured */
    struct probe_summary call;
    double queue_ns, chain_ns, behind_ns, launch_ns, end_ns;
};

struct gpu_curve {
    struct probe_sample samples[GPU_RATE_SIZES_MAX]; /* ascending; queued back to back */
    size_t count;
    struct gpu_starts starts;
};

/* Lists the sizes, without times: from 4 KiB up to most bytes, a factor of four apart; few: 64 KiB
 * and 4 MiB. */
struct gpu_curve gpu_curve_of(uint64_t most, bool few);

/* Fills in the times of the sizes, each at most the flow's span, and the cost of starting. Drops
 * sizes that take long, as gpu_rate_times does. False sets err: a call failed. */
bool gpu_curve_measure(const struct gpu_timing *timing, const struct gpu_flow *flow,
                       struct gpu_curve *curve, struct gpu_err *err);
