/**
 * A binding in the words of launchers, only where they are right.
 *
 * Pure; any thread.
 */
#pragma once
#include "node/allowed.h"
#include "node/reasons.h"
#include "plan/bind/bind.h"

enum launcher {
    /* srun's "--cpu-bind=mask_cpu:0xfe,0xfe00 --gpu-bind=map_gpu:0,1" (mask_gpu for several gpus a
     * task). Slurm counts the cpus and gpus of the whole node, so the job must have it: every gpu,
     * and of every L3 all cores but the same few (less than half) that a site keeps for the system.
     */
    LAUNCHER_SLURM,
    /* flux run's "-o cpu-affinity=map:0xfe;0xfe00 -o gpu-affinity=map:0;1" (masks for several gpus
     * a task). Flux binds to the cpus of the node as the system numbers them, whatever the job has,
     * and its gpu map is the value of CUDA_VISIBLE_DEVICES: gpus of one vendor, none in parts. */
    LAUNCHER_FLUX,
    /* Open MPI's rank file, a line for each task. It counts cores as hwloc does, by package and
     * locality. */
    LAUNCHER_RANKFILE,
    LAUNCHER_OMP_PLACES, /* OMP_PLACES, a line for each task: a place for each of its cores */
    LAUNCHER_NUMACTL,    /* a command for each task, in front of the program */
    /* MPICH_OFI_NIC_POLICY for all ranks of a job: NUMA, where the nics of each task are those of
     * the one NUMA node that it runs on */
    LAUNCHER_CRAY_MPICH,
    LAUNCHERS
};

/* "slurm", "rankfile", ... */
const char *launcher_name(enum launcher launcher);

/* Writes a launcher's options into ret, which the caller frees; NULL where none are right on this
 * node. ranks: of the tasks in the job, NULL 0, 1, 2, ... NO_MEMORY. */
enum berth_code launcher_options(enum launcher launcher, const struct snapshot *snap,
                                 const struct allowed *allowed, const struct bind_answer *answer,
                                 const int64_t *ranks, struct reasons *warnings, char **ret,
                                 struct berth_err *err);
