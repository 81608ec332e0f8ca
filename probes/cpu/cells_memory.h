/**
 * The cells of the group memory.
 *
 * Latency goes from each llc with usable cores; a NUMA node whose cores have no llc of their own,
 * because they have none that is known or one that reaches over several nodes, stands for itself.
 * Bandwidth goes from each NUMA node with cores, over 1, 2, 4 .. all of them, and, where a node has
 * several llcs, from each llc too. Targets are all NUMA nodes with memory.
 *
 * quick: latency, bandwidth of nodes over core counts and of whole llcs. full also: core counts of
 * llcs, latency over sizes, and both under noise.
 */
#pragma once
#include "cpu/builder.h"

void cpu_cells_memory_add(struct cpu_builder *builder);
