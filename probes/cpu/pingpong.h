/**
 * The round trip between two cores, or between the two threads of one.
 *
 * store: two flags, two cache lines apart. One core writes a number to the first and waits until
 * the second has it. The other core copies each new number from the first to the second. cas: one
 * line, which one core changes from 0 to 1 and the other from 1 to 0 by compare-and-swap. Neither
 * loop has a pause. The flags lie on pages that the first core touched first.
 *
 * The first 200 rounds are discarded; then batches of 500 rounds are timed. Each batch uses other
 * lines, because the path to a line depends on its part of the last-level cache. The value is the
 * median over the batches of a batch's time divided by its rounds, in nanoseconds.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "common/stats.h"
#include "common/why.h"

struct cpu_pingpong;

struct cpu_pingpong *cpu_pingpong_new(struct probe_why *why);
void cpu_pingpong_free(struct cpu_pingpong *pingpong);

/* Prepares a pair run (cpu/workers.h) of about budget_ns, given up after wait_limit_ns; at least
 * six batches are taken. Its table is the struct cpu_pingpong. */
void cpu_pingpong_begin(struct cpu_pingpong *pingpong, bool cas, int64_t budget_ns,
                        int64_t wait_limit_ns);
void cpu_pingpong_run_side(void *table, unsigned side);

/* Returns the result of the pair run. Fails with why when it was given up, because the two CPUs do
 * not run at the same time. */
bool cpu_pingpong_end(struct cpu_pingpong *pingpong, struct probe_summary *ret_summary,
                      struct probe_why *why);
