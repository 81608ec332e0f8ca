/**
 * Bytes per second that a set of cores, one thread each, streams from or to a buffer.
 *
 * Each repetition goes over the next slice of the buffer, so that no byte is seen again before the
 * whole buffer has passed, and every thread has its own part of the slice. A repetition takes from
 * the first thread's start to the last one's end. Copies go from the first half of the buffer to
 * the second and count each byte twice, as read and as written. What the cache reads on its own
 * before a write is not counted. The value is the median over the repetitions.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/stats.h"
#include "cpu/noise.h"
#include "cpu/workers.h"

enum cpu_direction { CPU_READ, CPU_WRITE, CPU_COPY };

/* @repetition_bytes are at least streamed by a repetition, and 2 MiB by each thread. @warm_bytes
 * are streamed untimed first: the size of the last-level caches of the cores, so that they hold
 * what the steady state has in them. */
struct cpu_bandwidth_request {
    enum cpu_direction direction;
    unsigned threads;
    int64_t repetition_bytes, warm_bytes, budget_ns;
};

/* Streams the bytes at base. The first CPUs of pus are the threads'; @noise, NULL none: the next
 * ones are its readers'. *ret_overrun: a thread is stuck, end the process. */
bool cpu_bandwidth_measure(char *base, size_t bytes, struct cpu_workers *workers, const int *pus,
                           const struct cpu_bandwidth_request *request, struct cpu_noise *noise,
                           struct probe_summary *ret_summary, bool *ret_overrun,
                           struct probe_why *why);
