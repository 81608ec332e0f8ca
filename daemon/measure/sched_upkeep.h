/**
 * Maintenance of the store. Thins old history after each run. While the store's file cannot be
 * used, tries it again after 1, 2, 4, ... 60 s. If the file fails again sooner after a return than
 * the next wait, tries after 1, 2, 4, 4, ... s. Nothing runs while the store works and no run ends.
 * Loop thread only, except for the work.
 */
#pragma once
#include <stdbool.h>
#include <uv.h>

#include "base/config.h"
#include "measure/sched_jobs.h"
#include "store/retention.h"

struct sched_upkeep {
    struct sched_job job; /* first member; entirely private */
    struct sched_jobs *jobs;
    const struct config *config;
    uv_timer_t timer;
    unsigned wait_s;
    uint64_t returned_ms; /* time when a try last restored the file; 0 never */
    bool queued, stopped;
    struct keep keep;
    bool was_out, is_well, has_more; /* results of the work */
};

void sched_upkeep_init(struct sched_upkeep *upkeep, uv_loop_t *loop, struct sched_jobs *jobs,
                       const struct config *config);

/* Call it after a write or a failed write: queues the maintenance. */
void sched_upkeep_due(struct sched_upkeep *upkeep);

/* Call it when the file was found unusable: tries it at once, or after a wait if the last return
 * was too short. */
void sched_upkeep_out(struct sched_upkeep *upkeep);

/* Ends after the queued job; closes the timer. */
void sched_upkeep_stop(struct sched_upkeep *upkeep);

/* Logs the store's state; code "" means that it works again. */
void sched_upkeep_log(const struct note *note);
