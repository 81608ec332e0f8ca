/**
 * Slurm's prolog and epilog: a job's gpus are claimed before it begins and released when it has ended.
 */
#pragma once
#include <stdbool.h>

#include "slurm_call.h"

#define SLURM_JOB_KEY 40

/* "slurm/1234", the key of the claim of $SLURM_JOB_ID; false when that is no job's number. */
bool slurm_job_key(char ret[SLURM_JOB_KEY]);

/* Claims the gpus of $SLURM_JOB_GPUS for the user of the process, which is to be root, until $SLURM_JOB_END_TIME, or as long as the daemon lets a claim
 * last. A claim of an earlier job of Slurm's that stands in the way is released: Slurm has given its gpus to this one. gres_conf NULL: where Slurm keeps it.
 * Logs what cannot be done; there is nobody who could do anything about it before the job begins. */
void slurm_job_begin(struct slurm_call *call, const char *gres_conf);

/* Releases what slurm_job_begin has claimed, if anything. */
void slurm_job_end(struct slurm_call *call);
