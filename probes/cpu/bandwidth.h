/**
 * Bytes per second that a set of cores, one thread each, streams from or to a buffer.
 *
 * Each repetition covers the next slice of the buffer, so no byte returns before the whole buffer
 * has passed. Every thread has its own part of the slice. A repetition lasts from the first
 * thread's start to the last one's end. Copies go from the first half of the buffer to the second
 * and count each byte twice, as read and as written. Reads that the cache makes on its own before a
 * write are not counted. The value is the median over the repetitions.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/stats.h"
#include "cpu/noise.h"
#include "cpu/workers.h"

enum cpu_direction { CPU_READ, CPU_WRITE, CPU_COPY };

/* @repetition_bytes is the least that a repetition streams; each thread streams at least 2 MiB.
 * @warm_bytes are streamed untimed first: the size of the cores' last-level caches, which then hold
 * their steady state. */
struct cpu_bandwidth_request {
    char *base; /* the buffer, borrowed */
    size_t bytes;
    enum cpu_direction direction;
    unsigned threads;
    int64_t repetition_bytes, warm_bytes, budget_ns;
};

/* Streams the buffer's bytes. *ret_overrun: a thread is stuck, end the process. */
bool cpu_bandwidth_measure(const struct cpu_bandwidth_request *request,
                           const struct cpu_threads *threads, struct probe_summary *ret_summary,
                           bool *ret_overrun, struct probe_why *why);
