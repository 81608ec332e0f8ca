/**
 * Times of any work that can be enqueued on a device: in a queue of equal work, and by the
 * caller's clock. gpu/timing/rate.h does the same for transfers.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/random.h"
#include "common/stats.h"
#include "gpu/timing/rate.h"
#include "gpu/timing/trial.h"

#define GPU_WORKS_MAX 32

struct gpu_work {
    int device;
    /* enqueued before each repetition, outside the measured time; NULL: nothing */
    gpu_enqueue prepare;
    gpu_enqueue enqueue; /* once */
    void *arg;           /* argument of both */
};

/* Time of one additional item in a queue, (T(n) - T(1)) / (n - 1), in ns: medians with their
 * intervals. At most GPU_WORKS_MAX, ascending. *ret_count becomes the number timed: none behind the
 * first that takes longest_ns. Each repetition takes all in random order. */
bool gpu_work_times(const struct gpu_timing *timing, const struct gpu_work *works,
                    size_t *ret_count, double longest_ns, struct probe_summary *ret_ns,
                    struct gpu_err *err);

/* Time of one by the caller's clock: launch to synchronised, nothing else in the stream. Called
 * from each of the caller CPUs in turn (NULL: from the thread's own place). Gives the median. */
bool gpu_work_call(const struct gpu_timing *timing, const struct gpu_work *work,
                   struct probe_summary *ret_ns, struct gpu_err *err);
