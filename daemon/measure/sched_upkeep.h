/**
 * What the store needs beside being written to: old history thinned after each run, and, while its
 * file cannot be used, another try at it after 1, 2, 4, ... 60 s. While the store is well and
 * nobody measures, nothing of this runs. Loop thread only, but for the work.
 */
#pragma once
#include <stdbool.h>
#include <uv.h>

#include "base/config.h"
#include "measure/sched_jobs.h"
#include "store/retention.h"

struct sched_upkeep {
    struct sched_job job; /* first; private, so is all of it */
    struct sched_jobs *jobs;
    const struct config *config;
    uv_timer_t timer;
    unsigned wait_s;
    bool queued, stopped;
    struct keep keep;
    bool is_well, has_more; /* what the work found */
};

void sched_upkeep_init(struct sched_upkeep *upkeep, uv_loop_t *loop, struct sched_jobs *jobs,
                       const struct config *config);

/* Something was written, or failed to be: looks after it soon, in the queue of jobs. */
void sched_upkeep_due(struct sched_upkeep *upkeep);

/* Whether it is to look after it anyway: soon, or after a wait. */
bool sched_upkeep_waits(const struct sched_upkeep *upkeep);

/* No more of it once the job that is queued has ended; the timer closes. */
void sched_upkeep_stop(struct sched_upkeep *upkeep);

/* Says in the log what the store says of itself now; code "" is that it works again. */
void sched_upkeep_log(const struct note *says);
