/**
 * Prolog and epilog for Slurm: claim a job's gpus before it begins and release them after it has
 * ended.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "slurm/call.h"

#define SLURM_JOB_KEYS     "slurm/" /* prefix of the keys of job claims, before the job's number */
#define SLURM_JOB_KEY_SIZE 40

/* Writes "slurm/1234", the key of the claim of $SLURM_JOB_ID; false when that is no job number. */
bool slurm_job_key(char ret[SLURM_JOB_KEY_SIZE]);

/* Longest duration of a claim that nobody releases, in seconds; the daemon cuts it to its limit. */
int64_t slurm_job_ttl_s(void);

/* Releases root's claims under keys of other jobs that include one of these places. With
 * all_of_them, Slurm has given the places to the job of this key, so every such claim goes.
 * Otherwise a claim goes only when no step of its job runs here. True when a claim was released. */
bool slurm_job_release_earlier(struct slurm_call *call, const char *key, const json_t *places,
                               bool all_of_them);

/* Claims the gpus of $SLURM_JOB_GPUS for the user of the process, which must be root. The claim
 * ends at $SLURM_JOB_END_TIME, or at the daemon's limit. Releases a claim of an earlier Slurm job
 * on these gpus: Slurm has given them to this job. gres_conf NULL: Slurm's own file. Logs failures;
 * nobody can act on them before the job begins. */
void slurm_job_begin(struct slurm_call *call, const char *gres_conf);

/* Releases the claim of slurm_job_begin, if there is one. */
void slurm_job_end(struct slurm_call *call);

/* Releases claims of jobs that have no step here and that, according to Slurm, have left the node.
 * Their epilogs found no daemon, or were killed. Runs scontrol for each job without a step, for at
 * most a quarter of a minute. Connects to socket (NULL: the usual one), with budget_ms per
 * connection. */
void slurm_job_release_ended(const char *socket, int budget_ms, const char *node);

/* slurm/step.c, for a job's first step on a node: adds the job's cores, given in Slurm's numbers,
 * to the claim of its prolog, or makes a claim. Runs as root. The claim ends with the job's cgroup
 * where that is of version 2 and includes task, a process of the job. Otherwise a claim without a
 * prolog ends with the calling process, which must be the step's slurmstepd. A claim that has cores
 * already stays. Slurm reports neither cores nor cgroup to a prolog. Logs failures. */
void slurm_step_claim(struct slurm_call *call, uint32_t job, const char *cores, pid_t task);
