/**
 * The additional time of a call of a small transfer over the same transfer in a queue, and the
 * spread of such calls. One half of the calls comes before the curve's measurement and the other
 * behind it, so drift lies between them.
 *
 * Takes 40 calls of the curve's smallest size and 40 of 64 KiB. Excludes 16 bytes: drivers write a
 * few bytes into the queue itself, which is a microsecond quicker than larger ones. One thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/timing/rate.h"

#define GPU_CALL_OVERHEAD_BYTES (UINT64_C(64) << 10)
#define GPU_CALL_OVERHEAD_SIZES 2

struct gpu_call_overhead {
    struct gpu_op op[GPU_CALL_OVERHEAD_SIZES];
    size_t sample[GPU_CALL_OVERHEAD_SIZES]; /* index of its size in the curve */
    size_t op_count;
    double ns[2][GPU_RATE_CALLS]; /* times of a half, each of op[i % op_count] */
    unsigned n[2];
};

/* samples: the sizes of the curve, whose times are not known yet. No call is made. */
struct gpu_call_overhead gpu_call_overhead_begin(const struct gpu_op *op,
                                                 const struct probe_sample *samples, size_t count);

/* Makes the calls of a half, 0 or 1. */
bool gpu_call_overhead_measure(struct gpu_call_overhead *calls, int half,
                               const struct gpu_timing *timing, struct gpu_err *err);

/* Mean of the additional time of calls over the sample in a queue: the median of each size,
 * averaged. low to high holds 95 % of single calls, of both sizes together. samples have times
 * now. A size that was removed from samples does not count; the first size is never removed. */
struct probe_summary gpu_call_overhead_summary(const struct gpu_call_overhead *calls,
                                               const struct probe_sample *samples, size_t count);
