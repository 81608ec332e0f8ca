/* Collects the selected cells of a run, which each group adds. */
#pragma once
#include "common/random.h"
#include "cpu/cell.h"

struct cpu_builder {
    const struct cpu_topology *topology;
    const struct cpu_selection *selection;
    struct cpu_cells cells; /* owned by the caller */
    struct probe_random random;
    bool failed; /* out of memory */
};

/* Adds a copy of the cell if it is selected. */
void cpu_builder_add(struct cpu_builder *builder, const struct cpu_cell *cell);

/* cpu/cells_memory.c: the cells of the group memory. Latency is measured from each llc with usable
 * cores. A NUMA node stands for itself when its cores have no known llc, or one that reaches over
 * several nodes. Bandwidth is measured from each NUMA node with cores, over 1, 2, 4 .. all of them.
 * Where a node has several llcs, it is measured from each llc too. Targets are all NUMA nodes with
 * memory. quick: latency, bandwidth of nodes over core counts and of whole llcs. full also: core
 * counts of llcs, latency over sizes, and both under noise. */
void cpu_cells_memory_add(struct cpu_builder *builder);

/* cpu/cells_pairs.c: the cells of the group cpu, from core to core. quick, ping-pong by store:
 * between the threads of each core, and between all cores of llcs that have at most 16. Larger llcs
 * measure neighbours and a random sample. Between any two llcs it takes the lowest cores, with a
 * check. quick, copies and queues: between the two lowest cores of some llcs, and the lowest cores
 * of some pairs of llcs. full: all ordered pairs, both methods of ping-pong, in the rounds of a
 * tournament. It adds copies and queues, some of them larger than the last-level caches. */
void cpu_cells_pairs_add(struct cpu_builder *builder);
