/* The cores that a cell uses: those of its llc or NUMA node, and those that make noise beside them.
 * Pure. */
#pragma once
#include "cpu/cell.h"
#include "cpu/topology.h"

/* Number of usable cores of an llc, or of a numa where llc is -1. */
int cpu_initiator_cores(const struct cpu_topology *topology, int llc, int numa);

/* Finds the CPUs of a cell's noise; pus as below. 0, with a why, when there is no core for it. */
unsigned cpu_initiator_noise_pus(const struct cpu_topology *topology, const struct cpu_cell *cell,
                                 int *ret_pus, struct probe_why *why);

/* NUMA node of a cell's noise, -1 for none. */
int cpu_initiator_noise_numa(const struct cpu_topology *topology, const struct cpu_cell *cell);

/* Lists the cores of a cell's initiator. The first n, for any n, are spread over its llcs. Returns
 * their number; pus has room for topology->core_count. */
unsigned cpu_initiator_pus(const struct cpu_topology *topology, const struct cpu_cell *cell,
                           int *ret_pus);
