/**
 * The queue of what touches the store: it runs on the thread pool, one job at a time, in the order
 * given. Loop thread only, but for work.
 */
#pragma once
#include <stdbool.h>
#include <uv.h>

#include "store/store.h"

struct sched_jobs;

/* Embed it in what the job needs, and set both; it stays the caller's. */
struct sched_job {
    void (*work)(struct sched_job *job, struct store *store); /* on the thread pool */
    /* on the loop, always, while no other runs; it may be freed or added again */
    void (*done)(struct sched_job *job);
    struct sched_job *next; /* private */
};

struct sched_jobs {
    uv_work_t request; /* private, so is all of it */
    uv_loop_t *loop;
    struct store *store;
    struct sched_job *running, *first, *last;
    void (*moved)(struct sched_jobs *jobs);
};

/* moved is called after each job's done, when the next one has begun or there is none. */
void sched_jobs_init(struct sched_jobs *jobs, uv_loop_t *loop, struct store *store,
                     void (*moved)(struct sched_jobs *jobs));

/* Begins it as soon as those before it are done; never calls back before it returns. */
void sched_jobs_add(struct sched_jobs *jobs, struct sched_job *job);

/* Whether a job runs. */
static inline bool sched_jobs_busy(const struct sched_jobs *jobs) { return jobs->running != NULL; }
