/**
 * Rates of flows alone or together, and times of single operations by size. Both are differences,
 * which cancels the costs of starting and timing and the resolution of events.
 *
 * A rate is the slope between a short and a long leg of the same transfer: (B2 - B1) / (T2 - T1).
 * Longer legs bring a rate nearer to that of an endless transfer, and reduce the effect of jitter
 * and coarse completion. Flows that run together get bytes so that all end at the same time: else
 * the last ones would be measured alone. Flows that leave one device, or come into one, may
 * alternate (an H200's copies to two peers, two peers' copies from an H200). Then each gets as many
 * bytes, and the time of all counts. The time of an operation is that of each one in a queue behind
 * the first.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/random.h"
#include "common/record.h"
#include "common/stats.h"
#include "gpu/timing/caller_cpus.h"
#include "gpu/timing/trial.h"

#define GPU_RATE_SIZES_MAX 32
/* shortest useful long leg: an event is known to about 0.5 us */
#define GPU_RATE_LEG_NS 250e3

#define GPU_RATE_LATENCY_BYTES 16 /* size of the smallest operation */

/* Resources for timing a transfer, besides itself; all borrowed. */
struct gpu_timing {
    struct gpu_trial *trial;
    /* CPUs for the device that runs it; NULL: the thread's own place */
    const struct gpu_caller_cpus *caller_cpus;
    struct probe_random *random;
    int64_t budget_ns;
};

/* The legs of a rate. */
struct gpu_legs {
    struct gpu_trial *trial; /* borrowed */
    double leg_ns;           /* approximate time of the long leg */
    /* fewest bytes of a leg: a multiple of a cache that must not hold them; 0: any */
    uint64_t least;
    int64_t budget_ns;
};

/* Rates of each flow (op without bytes, and span are given) and of all, in bytes per second.
 * Medians with their intervals; ret_sum may be NULL. */
bool gpu_rate_concurrent(const struct gpu_legs *legs, struct gpu_flow *flows, size_t count,
                         struct probe_summary *ret_rates, struct probe_summary *ret_sum,
                         struct gpu_err *err);

/* Times samples, which come with their bytes, ascending and at most span each, and get their ns.
 * *ret_count becomes the number timed. The last is the first that takes 0.15 ms, or 1/200 of the
 * budget if that is more (up to 0.5 ms). Each repetition takes all sizes in random order.
 * Operations step through the span, so that a cache of that size does not hold their bytes. */
bool gpu_rate_times(const struct gpu_timing *timing, const struct gpu_op *op, uint64_t span,
                    struct probe_sample *samples, size_t *ret_count, struct gpu_err *err);

#define GPU_RATE_CALLS 40 /* the lowest decile needs 36 for an interval */

/* Times single calls by the caller's clock, launch to synchronised. *ret_count calls
 * (GPU_RATE_CALLS at most) follow each other, of each of the ops in turn. The caller CPUs make
 * equal numbers of calls (NULL: the thread stays where it is). ret_ns[i] is of ops[i % op_count].
 * *ret_count becomes the number made: smaller when the budget is spent, and at least 8. */
bool gpu_rate_calls(const struct gpu_timing *timing, const struct gpu_op *ops, size_t op_count,
                    double *ret_ns, unsigned *ret_count, struct gpu_err *err);

/* Time of one operation by the caller's clock, launch to synchronised. Called from each of the CPUs
 * in turn (NULL: from the thread's own place). Gives the median and the lowest decile. */
bool gpu_rate_call(const struct gpu_timing *timing, const struct gpu_op *op,
                   struct probe_summary *ret_median, struct probe_summary *ret_low,
                   struct gpu_err *err);

/* Rate of copies in which the host takes part, by the caller's clock, in bytes per second. It is
 * the difference of two copies of the flow's op, from one CPU after the other. False also when
 * more bytes do not take more time. */
bool gpu_rate_called(const struct gpu_timing *timing, const struct gpu_flow *flow,
                     struct probe_summary *ret_rate, struct gpu_err *err);
