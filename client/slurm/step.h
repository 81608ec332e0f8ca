/**
 * What a job's first step on a node adds to the job's claim: its cores and its cgroup, which nobody
 * tells a prolog.
 */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "slurm/call.h"

/* Adds the job's cores, Slurm's numbers of them, to the claim that its prolog has made, or makes
 * one, as root. The claim ends with the job's cgroup where that is of version 2 and task, a process
 * of the job, is in it; one that no prolog has made ends otherwise with the calling process, which
 * is to be the step's slurmstepd. A claim that has cores already is left as it is. Logs what cannot
 * be done. */
void slurm_step_claim(struct slurm_call *call, uint32_t job, const char *cores, pid_t task);
