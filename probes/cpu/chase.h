/**
 * The latency of dependent loads: a cycle of pointers through a buffer, each load's address the
 * value of the load before.
 *
 * The buffer is taken in groups of 64 small pages, so that address translation stays out of the
 * figure; the cycle visits the groups in random order and within a group one cache line of each
 * span of 256 bytes, when at random, and which so that the sets of a cache get equally many. A walk
 * goes on where the last one stopped and the cycle is built in the order in which it is walked, so
 * a line is not seen again before all others have been. The value is the lowest decile over pieces
 * of the walk, under noise their median; each piece is the mean over 1000 loads. Pieces end when
 * half the interval is at most 1 % of the value, at 200, or when the time is spent; 40 are taken in
 * any case.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/random.h"
#include "common/stats.h"
#include "cpu/noise.h"
#include "cpu/workers.h"

/* bytes of the buffer per line that is visited: of 128, prefetchers guess many */
#define CPU_CHASE_SPAN ((size_t)256)
#define CPU_CHASE_LINE ((size_t)64)

struct cpu_chase {
    void **at;    /* where the next walk starts */
    size_t lines; /* of the cycle */
};

/* Builds the cycle over base, which stays the caller's and must be aligned to CPU_CHASE_SPAN. bytes
 * is rounded down to whole groups, to spans where it is less than one group. Fails when bytes hold
 * less than two lines or when out of memory. */
bool cpu_chase_build(char *base, size_t bytes, struct probe_random *random,
                     struct cpu_chase *ret_chase, struct probe_why *why);

/* Measures from pus[0] for at most about budget_ns. @warm walks the whole cycle once before, so
 * that one that fits a cache is found there. @noise, NULL none: pus[1] and on are its readers'
 * CPUs. *ret_overrun: a thread is stuck, end the process. */
bool cpu_chase_measure(struct cpu_chase *chase, struct cpu_workers *workers, const int *pus,
                       bool warm, struct cpu_noise *noise, int64_t budget_ns,
                       struct probe_summary *ret_summary, bool *ret_overrun, struct probe_why *why);
