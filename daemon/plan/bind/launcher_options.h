/**
 * A binding in the words of launchers: given only where they are right.
 *
 * Each gives a new string that the caller frees, or NULL in ret when it would not be right on this
 * node; then a warning says why. NO_MEMORY. Pure; any thread.
 */
#pragma once
#include "node/allowed.h"
#include "node/reasons.h"
#include "plan/bind/bind.h"

/* srun's options: "--cpu-bind=mask_cpu:0xfe,0xfe00 --gpu-bind=map_gpu:0,1" (mask_gpu for several
 * gpus a task). Slurm counts the cpus and gpus of the whole node, so the job must have it: every
 * gpu, and of every llc all cores but the same few (less than half) that a site keeps for the
 * system. */
enum berth_code launcher_slurm(const struct snapshot *snap, const struct allowed *allowed,
                               const struct bind_answer *answer, struct reasons *warnings,
                               char **ret, struct berth_err *err);

/* Open MPI's rank file, a line for each task. ranks: their ranks in the job, NULL 0, 1, 2 ... It
 * counts cores as hwloc does, by package and locality. */
enum berth_code launcher_rankfile(const struct snapshot *snap, const struct bind_answer *answer,
                                  const int64_t *ranks, char **ret, struct berth_err *err);

/* OMP_PLACES, a line for each task: one place for each of its cores. */
enum berth_code launcher_omp_places(const struct snapshot *snap, const struct bind_answer *answer,
                                    char **ret, struct berth_err *err);

/* The command to put in front of the program, a line for each task. */
enum berth_code launcher_numactl(const struct snapshot *snap, const struct bind_answer *answer,
                                 char **ret, struct berth_err *err);
