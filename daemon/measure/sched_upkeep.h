/**
 * What the store needs beside being written to: old history thinned after each run, and, while its
 * file cannot be used, another try at it after 1, 2, 4, ... 60 s. A file that fails again sooner
 * after a return than the next wait takes is tried after 1, 2, 4, 4, ... s. While the store is
 * well and nobody measures, nothing of this runs. Loop thread only, but for the work.
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
    uint64_t returned_ms; /* when a try last brought the file back; 0 never */
    bool queued, stopped;
    struct keep keep;
    bool was_out, is_well, has_more; /* what the work found */
};

void sched_upkeep_init(struct sched_upkeep *upkeep, uv_loop_t *loop, struct sched_jobs *jobs,
                       const struct config *config);

/* Something was written, or failed to be: looks after it soon, in the queue of jobs. */
void sched_upkeep_due(struct sched_upkeep *upkeep);

/* The file cannot be used, as somebody has found: tries it at once, or after a wait when the last
 * return to it was too short. */
void sched_upkeep_out(struct sched_upkeep *upkeep);

/* No more of it once the job that is queued has ended; the timer closes. */
void sched_upkeep_stop(struct sched_upkeep *upkeep);

/* Says in the log what the store says of itself now; code "" is that it works again. */
void sched_upkeep_log(const struct note *says);
