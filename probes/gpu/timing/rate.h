/**
 * Rates of flows alone or together, and times of single operations by size; both by differences, so
 * that neither what starting and timing cost nor the resolution of events is in them.
 *
 * A rate is the slope between a short and a long leg of the same transfer: (B2 - B1) / (T2 - T1).
 * The longer the legs, the nearer is a rate to that of a transfer that never ends, and the less is
 * what jitter and coarse completion make of it. Flows that run together are given bytes so that all
 * end at the same time: else the last ones would be measured alone. Where those that leave one
 * device, or come into one, take turns (an H200's copies to two peers, two peers' copies from an
 * H200), each gets as many bytes, and the time of all counts. The time of an operation is what each
 * takes in a queue behind the first.
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
/* the shortest long leg that is worth it: an event is known to about 0.5 us */
#define GPU_RATE_LEG_NS 250e3

#define GPU_RATE_LATENCY_BYTES 16 /* of what is as small as can be */

/* What a transfer is timed with, besides itself; all of it borrowed. */
struct gpu_timing {
    struct gpu_trial *trial;
    /* of the device that runs it; NULL: from where the thread runs */
    const struct gpu_seats *seats;
    struct probe_random *random;
    int64_t budget_ns;
};

/* Of each flow (op without bytes, and span are given) and of all, in bytes per second, medians with
 * their intervals; ret_sum may be NULL. leg_ns: what the long leg takes, about. No leg moves fewer
 * than least bytes: a multiple of a cache that must not hold them. */
bool gpu_rate_together(struct gpu_trial *trial, struct gpu_flow *flows, size_t count, double leg_ns,
                       uint64_t least, int64_t budget_ns, struct probe_summary *ret_rates,
                       struct probe_summary *ret_sum, enum gpu_fault *ret_fault,
                       struct probe_why *why);

/* samples come with their bytes, ascending and at most span each, and get their ns; *ret_count
 * becomes how many did: none is larger than the first that takes 0.15 ms, or 1/200 of the budget if
 * that is more (up to 0.5 ms). Each repetition takes all sizes in random order. Operations step
 * through the span, so that a cache as large as that does not hold what they move. */
bool gpu_rate_times(struct gpu_trial *trial, const struct gpu_op *op, uint64_t span,
                    struct probe_sample *samples, size_t *ret_count, struct probe_random *random,
                    int64_t budget_ns, enum gpu_fault *ret_fault, struct probe_why *why);

#define GPU_RATE_CALLS 40 /* the lowest decile needs 36 for an interval */

/* What the caller's clock sees of each of count single operations (GPU_RATE_CALLS at most) that are
 * called one after the other, launch to synchronised, of each of the ops in turn, and as many from
 * each of the seats (NULL: from where the thread runs): ret_ns[i] is of ops[i % op_count].
 * *ret_count are fewer where the budget is spent, and 8 at least. */
bool gpu_rate_calls(struct gpu_trial *trial, const struct gpu_op *ops, size_t op_count,
                    unsigned count, const struct gpu_seats *seats, int64_t budget_ns,
                    double *ret_ns, unsigned *ret_count, enum gpu_fault *ret_fault,
                    struct probe_why *why);

/* What the caller's clock sees of one operation, launch to synchronised, called from each of the
 * seats in turn (NULL: from where the thread runs): median, and the lowest decile. */
bool gpu_rate_call(struct gpu_trial *trial, const struct gpu_op *op, const struct gpu_seats *seats,
                   int64_t budget_ns, struct probe_summary *ret_median,
                   struct probe_summary *ret_low, enum gpu_fault *ret_fault, struct probe_why *why);

/* The rate of copies that the host takes part in, as the caller's clock sees them: bytes per second
 * by the difference of two copies of the flow's op, from one seat after the other. False also where
 * more bytes do not take more time. */
bool gpu_rate_called(const struct gpu_timing *timing, const struct gpu_flow *flow,
                     struct probe_summary *ret_rate, enum gpu_fault *ret_fault,
                     struct probe_why *why);
