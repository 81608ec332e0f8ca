/**
 * The round trip between two cores.
 *
 * store: two flags, two cache lines apart. One core writes a number to the first and waits until the second has it; the other
 * copies each new number from the first to the second. cas: one line, which one core changes from 0 to 1 and the other from 1 to
 * 0 by compare-and-swap. No pause in either loop. The flags lie on a page that the first core touched first.
 *
 * The first 200 rounds are discarded; then the time of batches of 2000 rounds is taken. The value is the median over
 * the batches of the time of a batch divided by its rounds, in nanoseconds.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "cpu_workers.h"
#include "probe_stats.h"

struct cpu_pingpong;

struct cpu_pingpong *cpu_pingpong_new(struct probe_why *why);
void cpu_pingpong_free(struct cpu_pingpong *pingpong);

/* Measures from the CPU @from to the CPU @to, for about budget_ns (at least six batches are taken). Fails with why when the
 * threads cannot be pinned or the two CPUs do not run at the same time. *ret_overrun: a thread is stuck, end the process. */
bool cpu_pingpong_measure(struct cpu_pingpong *pingpong, struct cpu_workers *workers, int from, int to, bool cas,
                          int64_t budget_ns, struct probe_summary *ret_summary, bool *ret_overrun, struct probe_why *why);
