/**
 * Detects that the idle store's file was deleted, moved, replaced or truncated. The kernel reports
 * it (inotify), or a request for the daemon's state checks it, at most once a second. Nothing runs
 * while the file is unchanged or only the store writes to it. A second after another process
 * changed a size, it is checked once. Loop thread only, except for the work.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "measure/sched_jobs.h"

struct sched_watch {
    struct sched_job job; /* first member; entirely private */
    struct sched_jobs *jobs;
    const char *directory;
    uv_fs_event_t event;
    uv_timer_t timer;
    uint64_t files, checked_ms;
    bool queued, begun, stopped;
    bool is_certain; /* the timer runs for more than a change of size */
};

/* directory is borrowed; NULL: there is no file, and the functions below do nothing. Watches
 * nothing before sched_watch_begin. */
void sched_watch_init(struct sched_watch *watch, uv_loop_t *loop, struct sched_jobs *jobs,
                      const char *directory);
void sched_watch_begin(struct sched_watch *watch);

/* Has the file checked, unless that was done within the last second. */
void sched_watch_request(struct sched_watch *watch);

/* Call it after the store was used. If the store has begun another file, even in a new directory of
 * the same name, watches that. The store's own changes need no check. */
void sched_watch_follow(struct sched_watch *watch);

/* Ends after the queued job; closes the handles. */
void sched_watch_stop(struct sched_watch *watch);
