/**
 * Limits of waiting between the two sides of a match (cpu/workers.h). Without them a side would
 * wait forever when the CPUs do not run at the same time. A side that has waited too long ends the
 * match for both: each leaves as soon as it next waits.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"

/* spins between two reads of the clock; a measured wait never reaches it */
#define CPU_PATIENCE_SPINS 4096u
/* consecutive matches that ended by it, after which none is tried */
#define CPU_PATIENCE_IN_ROW 8

struct cpu_patience {
    int64_t until_ns; /* time of the clock */
    _Atomic unsigned here;
    _Atomic bool over;
};

static inline void cpu_patience_begin(struct cpu_patience *patience, int64_t ns)
{
    patience->until_ns = probe_clock_ns() + ns;
    atomic_store(&patience->here, 0);
    atomic_store(&patience->over, false);
}

static inline bool cpu_patience_is_over(struct cpu_patience *patience)
{
    if (atomic_load_explicit(&patience->over, memory_order_relaxed))
        return true;
    if (probe_clock_ns() <= patience->until_ns)
        return false;
    atomic_store(&patience->over, true);
    return true;
}

/* True when a waiting loop must leave. Call it in each iteration with the number of iterations,
 * from 1. */
static inline bool cpu_patience_ends(struct cpu_patience *patience, unsigned spins)
{
    return spins % CPU_PATIENCE_SPINS == 0 && cpu_patience_is_over(patience);
}

/* Waits until both sides are here; false when one does not come. */
static inline bool cpu_patience_meet(struct cpu_patience *patience)
{
    atomic_fetch_add(&patience->here, 1);
    for (unsigned spins = 1; atomic_load(&patience->here) < 2; spins++)
        if (cpu_patience_ends(patience, spins))
            return false;
    return true;
}
