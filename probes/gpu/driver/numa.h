/* The NUMA nodes of the host whose memory cells use. */
#pragma once

/* Numbers of the nodes that have memory and that this process may use. Ascending, at most max,
 * below root ("" but in tests), the kernel's own numbers. A kernel without NUMA has node 0. Returns
 * at least one. */
int gpu_numa_list(const char *root, int *ret_numbers, int max);

/* CPUs of a NUMA node that this process may run on, one for each core, ascending, at most max.
 * Returns their number. 0 where the kernel does not show them. */
int gpu_numa_cores(const char *root, int numa, int *ret_cpus, int max);
