/**
 * The latency of dependent loads: a cycle of pointers through a buffer. The address of each load is
 * the value of the load before.
 *
 * The buffer is divided into groups of 64 small pages, which keeps address translation out of the
 * value. The cycle visits the groups in random order. Within a group it visits one cache line of
 * each span of 256 bytes, in random order. The choice of the line gives all sets of a cache equally
 * many. A walk continues at the end of the last one, and the cycle is built in walking order. So a
 * line returns only after all others. Each piece of the walk gives the mean over 1000 loads. The
 * value is the lowest decile over the pieces, under noise their median. Pieces end when half the
 * interval is at most 1 % of the value, at 200, or when the time is spent. At least 40 are taken.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/random.h"
#include "common/stats.h"
#include "cpu/noise.h"
#include "cpu/workers.h"

/* bytes of the buffer per visited line: with 128, prefetchers guess many */
#define CPU_CHASE_SPAN ((size_t)256)
#define CPU_CHASE_LINE ((size_t)64)

struct cpu_chase {
    void **at;    /* start of the next walk */
    size_t lines; /* number of lines in the cycle */
};

/* Builds the cycle over base, which stays the caller's and must be aligned to CPU_CHASE_SPAN.
 * Rounds bytes down to whole groups, or to spans below one group. Fails when bytes hold less than
 * two lines or when out of memory. */
bool cpu_chase_build(char *base, size_t bytes, struct probe_random *random,
                     struct cpu_chase *ret_chase, struct probe_why *why);

struct cpu_chase_request {
    struct cpu_chase *chase; /* borrowed */
    bool warm; /* walk the whole cycle once before, so that a cache holds a cycle that fits */
    int64_t budget_ns; /* about */
};

/* Measures from the first of the threads' CPUs. *ret_overrun: a thread is stuck, end the
 * process. */
bool cpu_chase_measure(const struct cpu_chase_request *request, const struct cpu_threads *threads,
                       struct probe_summary *ret_summary, bool *ret_overrun, struct probe_why *why);
