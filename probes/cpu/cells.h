/**
 * The list of cells of one run, most needed first. Pure: depends on topology, profile and seed
 * alone.
 *
 * quick: bandwidth of all cores, own memory first, and latency, one llc of each node first. Then
 * ping-pong, copies and queues between some cores (cpu/builder.h); then bandwidth over core
 * counts and of llcs. full: everything over every ordered pair and core count, and both methods of
 * ping-pong. Also latency over buffer sizes, and memory under noise (cpu/builder.h).
 */
#pragma once
#include <stdbool.h>

#include "cpu/cell.h"
#include "cpu/topology.h"

/* Fails when out of memory. */
bool cpu_cells_new(const struct cpu_topology *topology, const struct cpu_selection *selection,
                   struct cpu_cells *ret_cells, struct probe_why *why);
void cpu_cells_done(struct cpu_cells *cells);
