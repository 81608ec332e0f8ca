/* Collects the wanted cells of a run. */
#pragma once
#include "common/random.h"
#include "cpu/cell.h"

struct cpu_builder {
    const struct cpu_topology *topology;
    const struct cpu_wanted *wanted;
    struct cpu_cells cells; /* owned by the caller */
    struct probe_random random;
    bool failed; /* out of memory */
};

/* Adds a copy of the cell if it is wanted. */
void cpu_builder_add(struct cpu_builder *builder, const struct cpu_cell *cell);
