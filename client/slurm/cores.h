/**
 * Which cpus Slurm's numbers of a job's cores mean. Slurm counts the cores of a node in the order
 * of the machine's structure (its "abstract" ids), each with all of its hardware threads; the
 * kernel counts otherwise. Source: xcpuinfo_abs_to_mac in src/slurmd/common/xcpuinfo.c of
 * Slurm 22.05.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* The kernel's list of the cpus that Slurm's list of cores means, for a node that slurm.conf
 * describes as it is built (slurmd -C); node is what GetNode replied. False when a number is not
 * there, or the text does not fit. */
bool slurm_cores_cpus(const json_t *node, const char *numbers, char *ret, size_t size);

/* The places of the node that are these cpus, as "0,64,1": cores of which all cpus are among them,
 * and of the others the single cpus. A new array of names, borrowed by nobody; NULL when out of
 * memory or the list is none. */
json_t *slurm_cores_places(const json_t *node, const char *cpus);
