/**
 * A pool of threads, pinned anew for each piece of work. They are kept between pieces, because a
 * freshly started thread measures its own start. A pair run is a measurement between two of them.
 * Used from one thread.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "common/why.h"

struct cpu_workers;

struct cpu_workers *cpu_workers_new(void); /* NULL when out of memory */

/* Ends the threads, except those whose work overran its limit: they may never end. */
void cpu_workers_free(struct cpu_workers *workers);

/* A piece of work for several threads. */
struct cpu_work {
    const int *pus; /* the i-th thread is pinned to pus[i] */
    unsigned count; /* number of threads */
    void (*run)(void *arg, unsigned index);
    void *arg;
    int64_t limit_ns;
};

/* Runs run(arg, i) for i from 0 to count - 1 side by side, and waits for all. Fails when a thread
 * cannot be started or pinned; nothing ran in that case. Fails also when the work is not done after
 * limit_ns, and sets *ret_overrun. Then its threads are left behind and may use arg until the
 * process ends; the next work gets new ones. */
bool cpu_workers_run(struct cpu_workers *workers, const struct cpu_work *work, bool *ret_overrun,
                     struct probe_why *why);

/* A measurement between two threads. */
struct cpu_pair_run {
    int pus[2];                                   /* from, to */
    void (*run_side)(void *state, unsigned side); /* side 0 runs on pus[0], side 1 on pus[1] */
    void *state;                                  /* state shared by the two sides */
};

/* Runs all pairs side by side; no CPU is in two of them. Fails as cpu_workers_run does.
 * *ret_overrun: a thread is stuck and still uses the pair runs and their states. They must be on
 * the heap, and are never freed nor used again in that case. */
bool cpu_pair_runs(struct cpu_workers *workers, const struct cpu_pair_run *pair_runs,
                   unsigned count, int64_t limit_ns, bool *ret_overrun, struct probe_why *why);
