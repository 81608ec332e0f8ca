/**
 * Measurements between two threads, and many such pairs side by side.
 */
#pragma once
#include "cpu/workers.h"

struct cpu_match {
    int pus[2];                               /* from, to */
    void (*play)(void *table, unsigned side); /* side 0 runs on pus[0], side 1 on pus[1] */
    void *table;                              /* state shared by the two sides */
};

/* Plays all matches side by side; no CPU is in two of them. Fails as cpu_workers_run does.
 * *ret_overrun: a thread is stuck and still uses the matches and their tables. They must be on the
 * heap, and are never freed nor used again in that case. */
bool cpu_match_run(struct cpu_workers *workers, const struct cpu_match *matches, unsigned count,
                   int64_t limit_ns, bool *ret_overrun, struct probe_why *why);
