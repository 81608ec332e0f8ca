/**
 * Use of the node by others, which background measuring waits for: jobs, processes on GPUs, load.
 * Reads a few small files; any thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/files.h"

/* Counts of open GPUs by their drivers' files. 0 where a driver has no such file. */
struct node_use_gpus {
    long processes; /* with AMD's compute driver open */
    long openings;  /* of NVIDIA's memory driver: one or more for each process */
};

struct node_use_gpus node_use_gpus(const struct files *io);

/* True when a job of a batch system has a cgroup here. Writes the reason for a user. */
bool node_use_has_job(const struct files *io, char *ret_why, size_t size);

/* True when more processes want to run than so many for each of the cpus, and more than one. Writes
 * the reason for a user. */
#define NODE_USE_LOAD        0.1
#define NODE_USE_LOAD_BESIDE 0.5 /* most beside a job: a probe finds a cpu */
bool node_use_is_loaded(const struct files *io, size_t cpus, double per_cpu, char *ret_why,
                        size_t size);
