/**
 * Queue of jobs that use the store: on the thread pool, one at a time, in the order of adding. Loop
 * thread only, except for work.
 */
#pragma once
#include <stdbool.h>
#include <uv.h>

#include "store/store.h"

struct sched_jobs;

/* Embed it in the job's data and set both functions; the caller owns it. */
struct sched_job {
    void (*work)(struct sched_job *job, struct store *store); /* on the thread pool */
    /* on the loop, always, while no other job runs; may free the job or add it again */
    void (*done)(struct sched_job *job);
    struct sched_job *next; /* private */
};

struct sched_jobs {
    uv_work_t request; /* private, all of it */
    uv_loop_t *loop;
    struct store *store;
    struct sched_job *running, *first, *last;
    void (*moved)(struct sched_jobs *jobs);
};

/* Calls moved after each job's done, when the next one has begun or there is none. */
void sched_jobs_init(struct sched_jobs *jobs, uv_loop_t *loop, struct store *store,
                     void (*moved)(struct sched_jobs *jobs));

/* Starts the job after those before it; never calls back before it returns. */
void sched_jobs_add(struct sched_jobs *jobs, struct sched_job *job);

/* True while a job runs. */
static inline bool sched_jobs_busy(const struct sched_jobs *jobs) { return jobs->running != NULL; }
