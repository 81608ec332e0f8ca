/**
 * Limits of waiting between the two sides of a pair run (cpu/workers.h). Without them a side would
 * wait forever when the CPUs do not run at the same time. A side that has waited too long ends the
 * pair run for both: each leaves as soon as it next waits.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"

/* spins between two reads of the clock; a measured wait never reaches it */
#define CPU_WAIT_LIMIT_SPINS 4096u
/* consecutive pair runs that ended by it, after which none is tried */
#define CPU_WAIT_LIMIT_IN_ROW 8

struct cpu_wait_limit {
    int64_t until_ns; /* time of the clock */
    _Atomic unsigned here;
    _Atomic bool over;
};

static inline void cpu_wait_limit_begin(struct cpu_wait_limit *wait_limit, int64_t ns)
{
    wait_limit->until_ns = probe_clock_ns() + ns;
    atomic_store(&wait_limit->here, 0);
    atomic_store(&wait_limit->over, false);
}

static inline bool cpu_wait_limit_is_reached(struct cpu_wait_limit *wait_limit)
{
    if (atomic_load_explicit(&wait_limit->over, memory_order_relaxed))
        return true;
    if (probe_clock_ns() <= wait_limit->until_ns)
        return false;
    atomic_store(&wait_limit->over, true);
    return true;
}

/* True when a waiting loop must leave. Call it in each iteration with the number of iterations,
 * from 1. */
static inline bool cpu_wait_limit_ends(struct cpu_wait_limit *wait_limit, unsigned spins)
{
    return spins % CPU_WAIT_LIMIT_SPINS == 0 && cpu_wait_limit_is_reached(wait_limit);
}

/* Waits until both sides are here; false when one does not come. */
static inline bool cpu_wait_limit_meet(struct cpu_wait_limit *wait_limit)
{
    atomic_fetch_add(&wait_limit->here, 1);
    for (unsigned spins = 1; atomic_load(&wait_limit->here) < 2; spins++)
        if (cpu_wait_limit_ends(wait_limit, spins))
            return false;
    return true;
}
