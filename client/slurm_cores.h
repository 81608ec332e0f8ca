/**
 * Which cpus Slurm's numbers of a job's cores mean. Slurm counts the hardware threads of a node core by core in the order of the machine's structure
 * (its "abstract" ids), the kernel otherwise. Source: xcpuinfo_abs_to_mac in src/slurmd/common/xcpuinfo.c of Slurm 22.05.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* The kernel's list of the cpus that Slurm's list means, for a node of which CPUs= is the number of its hardware threads; node is what GetNode
 * replied. False when a number is not there, or the text does not fit. */
bool slurm_cores_cpus(const json_t *node, const char *numbers, char *ret, size_t size);
