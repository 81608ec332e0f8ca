/**
 * Slurm's prolog and epilog: a job's gpus are claimed before it begins and released when it has
 * ended.
 */
#pragma once
#include <stdbool.h>

#include "slurm/call.h"

#define SLURM_JOB_KEYS     "slurm/" /* and the job's number: the keys of claims of jobs */
#define SLURM_JOB_KEY_SIZE 40

/* "slurm/1234", the key of the claim of $SLURM_JOB_ID; false when that is no job's number. */
bool slurm_job_key(char ret[SLURM_JOB_KEY_SIZE]);

/* How long a claim may stand that nobody releases; the daemon cuts it to its limit. */
int64_t slurm_job_ttl_s(void);

/* Claims of root's under keys of other jobs that have one of these places: released when
 * all_of_them, because Slurm has given the places to the job of this key, or when no step of their
 * job runs here. Whether there was one. */
bool slurm_job_release_earlier(struct slurm_call *call, const char *key, const json_t *places,
                               bool all_of_them);

/* Claims the gpus of $SLURM_JOB_GPUS for the user of the process, which is to be root, until
 * $SLURM_JOB_END_TIME, or as long as the daemon lets a claim last. A claim of an earlier job of
 * Slurm's that stands in the way is released: Slurm has given its gpus to this one. gres_conf NULL:
 * where Slurm keeps it. Logs what cannot be done; there is nobody who could do anything about it
 * before the job begins. */
void slurm_job_begin(struct slurm_call *call, const char *gres_conf);

/* Releases what slurm_job_begin has claimed, if anything. */
void slurm_job_end(struct slurm_call *call);

/* Releases claims of jobs that have no step here and of which Slurm says that they have left the
 * node: their epilogs found no daemon, or were killed. Runs scontrol for each job without a step,
 * for a quarter of a minute at most. Connects to socket (NULL: the usual one), for budget_ms at a
 * time. */
void slurm_job_release_ended(const char *socket, int budget_ms, const char *node);
