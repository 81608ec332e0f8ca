/**
 * Additions of a job's first step on a node to the job's claim: its cores and its cgroup. Slurm
 * reports neither to a prolog.
 */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "slurm/call.h"

/* Adds the job's cores, given in Slurm's numbers, to the claim of its prolog, or makes a claim.
 * Runs as root. The claim ends with the job's cgroup where that is of version 2 and includes task,
 * a process of the job. Otherwise a claim without a prolog ends with the calling process, which
 * must be the step's slurmstepd. A claim that has cores already stays. Logs failures. */
void slurm_step_claim(struct slurm_call *call, uint32_t job, const char *cores, pid_t task);
