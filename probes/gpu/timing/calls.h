/**
 * What a call of a small transfer takes more than one does in a queue, and how far such calls are
 * apart: one half of them is made before its curve is measured and the other one behind it, so that
 * what drifts meanwhile is between them.
 *
 * Of the curve's smallest size and of 64 KiB, 40 of each. Not of 16 bytes: drivers write a few
 * bytes into the queue itself, which is a microsecond quicker, and not what larger ones cost. One
 * thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/timing/rate.h"

#define GPU_CALLS_BYTES (UINT64_C(64) << 10)
#define GPU_CALLS_SIZES 2

struct gpu_calls {
    struct gpu_op op[GPU_CALLS_SIZES];
    size_t sample[GPU_CALLS_SIZES]; /* the index of its size in the curve */
    size_t op_count;
    double ns[2][GPU_RATE_CALLS]; /* of a half, each of op[i % op_count] */
    unsigned n[2];
};

/* samples: the sizes of the curve, whose times are not known yet. No call is made. */
struct gpu_calls gpu_calls_of(const struct gpu_op *op, const struct probe_sample *samples,
                              size_t count);

/* Makes the calls of a half, 0 or 1. */
bool gpu_calls_make(struct gpu_calls *calls, int half, struct gpu_trial *trial,
                    const struct gpu_seats *seats, int64_t budget_ns, enum gpu_fault *ret_fault,
                    struct probe_why *why);

/* The mean of the sizes' medians of what calls take more than the sample in a queue; low to high:
 * where 95 % of single calls are, of both sizes together. samples have their times; sizes that are
 * no longer among them do not count, and the first one always is. */
struct probe_summary gpu_calls_more(const struct gpu_calls *calls,
                                    const struct probe_sample *samples, size_t count);
