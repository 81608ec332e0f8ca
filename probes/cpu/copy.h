/**
 * Bulk copy between two cores: one has just written a buffer, the other copies it into a buffer of
 * its own.
 *
 * Before each copy, untimed, the first core writes the whole source, so that its caches hold the
 * lines modified, as far as they fit. The second core writes the whole of its destination, so that
 * it is warm in its own. The time is from the first load until the last store is visible. It is
 * read from the second core's clock, less the cost of reading that clock. Sizes alternate in random
 * order. The value of a size is the median over its copies, in nanoseconds.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/random.h"
#include "common/stats.h"
#include "common/why.h"

#define CPU_COPY_SIZES_MAX   12
#define CPU_COPY_SIZES_LEAST 6    /* fewest sizes for a curve */
#define CPU_COPY_ROOM        8192 /* bytes of a destination beyond the bytes copied */

/* Sizes of a cell, ascending by factors of four from 4 KiB to twice beyond (bytes of a cache), at
 * least 4 MiB. Returns their number. */
unsigned cpu_copy_sizes(int64_t beyond, int64_t ret_bytes[CPU_COPY_SIZES_MAX]);

struct cpu_copy;

struct cpu_copy *cpu_copy_new(void); /* NULL when out of memory */
void cpu_copy_free(struct cpu_copy *copy);

/* Buffers of a copy: source holds the largest size, target CPU_COPY_ROOM more. Both are aligned to
 * pages and stay the caller's. */
struct cpu_copy_plan {
    char *source, *target;
    const int64_t *bytes; /* ascending multiples of 4096 */
    unsigned sizes;       /* 1 to CPU_COPY_SIZES_MAX */
    int64_t budget_ns;
    uint64_t seed;
};

/* Prepares a pair run (cpu/workers.h): side 0 writes, side 1 copies. Each size is copied six times
 * at least. */
void cpu_copy_begin(struct cpu_copy *copy, const struct cpu_copy_plan *plan);
void cpu_copy_run_side(void *table, unsigned side);

/* Latest time at which a started pair run is given up. */
int64_t cpu_copy_wait_limit_ns(const struct cpu_copy *copy);

/* The times of the sizes, in nanoseconds. Fails with why when the pair run was given up, because
 * the two CPUs do not run at the same time. Fails also when the copied bytes differ from the
 * source. */
bool cpu_copy_end(struct cpu_copy *copy, struct probe_summary ret_times[CPU_COPY_SIZES_MAX],
                  struct probe_why *why);
