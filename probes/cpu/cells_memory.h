/**
 * The cells of the group memory.
 *
 * Latency is measured from each llc with usable cores. A NUMA node stands for itself when its cores
 * have no known llc, or one that reaches over several nodes. Bandwidth is measured from each NUMA
 * node with cores, over 1, 2, 4 .. all of them. Where a node has several llcs, it is measured from
 * each llc too. Targets are all NUMA nodes with memory.
 *
 * quick: latency, bandwidth of nodes over core counts and of whole llcs. full also: core counts of
 * llcs, latency over sizes, and both under noise.
 */
#pragma once
#include "cpu/builder.h"

void cpu_cells_memory_add(struct cpu_builder *builder);
