/**
 * Cpus of a job's cores in Slurm's numbers. Slurm counts the cores of a node in the order of the
 * machine's structure (its "abstract" ids), each with all of its hardware threads. The kernel
 * counts in another order. Source: xcpuinfo_abs_to_mac in src/slurmd/common/xcpuinfo.c of Slurm
 * 22.05.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Translates Slurm's list of cores into the kernel's list of cpus. slurm.conf must describe the
 * node as it is built (slurmd -C). node: GetNode's reply. False when a number has no core, or the
 * text does not fit. */
bool slurm_cores_cpus(const json_t *node, const char *numbers, char *ret, size_t size);

/* Places of the node for a list of cpus such as "0,64,1". Gives a core when the list has all of its
 * cpus, and single cpus otherwise. Returns a new array of names that the caller owns; NULL when out
 * of memory or the list is invalid. */
json_t *slurm_cores_places(const json_t *node, const char *cpus);
