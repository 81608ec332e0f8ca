/**
 * Notices that the store's file was deleted, moved, replaced or truncated while nobody uses it: the
 * kernel says so (inotify), or whoever asks for the state of the daemon has it looked at, once a
 * second at most. While nothing happens to the file, and while only the store writes to it, nothing
 * of this runs; a second after somebody else changed a size it is looked at once. Loop thread only,
 * but for the work.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "measure/sched_jobs.h"

struct sched_watch {
    struct sched_job job; /* first; private, so is all of it */
    struct sched_jobs *jobs;
    const char *directory;
    uv_fs_event_t event;
    uv_timer_t timer;
    uint64_t files, looked_ms;
    bool queued, begun, stopped;
    bool is_certain; /* the timer runs for more than a change of size */
};

/* directory is borrowed; NULL: there is no file, and every call below does nothing. Nothing is
 * watched before sched_watch_begin. */
void sched_watch_init(struct sched_watch *watch, uv_loop_t *loop, struct sched_jobs *jobs,
                      const char *directory);
void sched_watch_begin(struct sched_watch *watch);

/* Has the file looked at, unless that was done within the last second. */
void sched_watch_ask(struct sched_watch *watch);

/* After the store was used: it may have begun another file, in another directory of the same name,
 * which is watched from now on, and a change that is its own needs no look. */
void sched_watch_follow(struct sched_watch *watch);

/* No more of it once the job that is queued has ended; its handles close. */
void sched_watch_stop(struct sched_watch *watch);
