/**
 * Bytes per second that a set of cores, one thread each, streams from or to a buffer.
 *
 * Each repetition goes over the next slice of the buffer, so that no byte is seen again before the whole buffer has passed, and
 * every thread has its own part of the slice. A repetition takes from the first thread's start to the last one's end.
 * Copies go from the first half of the buffer to the second and count each byte twice, as read and as written. What the cache
 * reads on its own before a write is not counted. The value is the median over the repetitions.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "cpu_memory.h"
#include "cpu_workers.h"
#include "probe_stats.h"

enum cpu_direction { CPU_READ, CPU_WRITE, CPU_COPY };

/* @repetition_bytes are at least streamed by a repetition, and 2 MiB by each thread. @warm_bytes are streamed untimed first: the
 * size of the last-level caches of the cores, so that they hold what the steady state has in them. *ret_overrun: a thread is
 * stuck, end the process. */
bool cpu_bandwidth_measure(const struct cpu_memory *memory, struct cpu_workers *workers, const int *pus, unsigned threads,
                           enum cpu_direction direction, int64_t repetition_bytes, int64_t warm_bytes, int64_t budget_ns,
                           struct probe_summary *ret_summary, bool *ret_overrun, struct probe_why *why);
