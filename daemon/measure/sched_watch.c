#include "measure/sched_watch.h"

#include <string.h>

/* after this time, a deletion of the directory has finished and finds no new file */
#define CHECK_DELAY_MS    1000
#define CHECK_INTERVAL_MS 1000

static void run_check(struct sched_job *job, struct store *store)
{
    (void)job;
    store_check(store);
}

static void done(struct sched_job *job) { ((struct sched_watch *)job)->queued = false; }

static void queue_check(struct sched_watch *watch)
{
    watch->is_certain = false;
    if (watch->queued || watch->stopped)
        return;
    watch->queued = true;
    watch->checked_ms = uv_now(watch->timer.loop);
    sched_jobs_add(watch->jobs, &watch->job);
}

static void timer_passed(uv_timer_t *timer) { queue_check(timer->data); }

static bool is_last_part(const char *path, const char *name)
{
    size_t length = strlen(path), name_length = strlen(name);
    while (length > 1 && path[length - 1] == '/')
        length--;
    return length >= name_length && strncmp(path + length - name_length, name, name_length) == 0;
}

/* Handles an event in the directory. Creation, removal and renaming of a file count as a rename;
 * the store's logs cause renames in normal use. Truncation counts as a change, as do the store's
 * own writes. Sizes and inodes that its last call left need no check. */
static void on_event(uv_fs_event_t *event, const char *name, int what, int status)
{
    struct sched_watch *watch = event->data;
    bool is_file = name == NULL || strcmp(name, "berth.db") == 0;
    bool is_moved = is_file || strncmp(name, "berth.db.corrupt-", 17) == 0 ||
                    is_last_part(watch->directory, name);
    bool is_changed =
        is_file || strcmp(name, "berth.db-wal") == 0 || strcmp(name, "berth.db-shm") == 0;
    bool is_certain = status < 0 || ((what & UV_RENAME) != 0 && is_moved);
    watch->is_certain |= is_certain;
    if (uv_is_active((uv_handle_t *)&watch->timer))
        return;
    if (is_certain || (is_changed && !store_is_sole_writer(watch->jobs->store)))
        uv_timer_start(&watch->timer, timer_passed, CHECK_DELAY_MS, 0);
}

void sched_watch_init(struct sched_watch *watch, uv_loop_t *loop, struct sched_jobs *jobs,
                      const char *directory)
{
    *watch = (struct sched_watch){.job = {.work = run_check, .done = done},
                                  .jobs = jobs,
                                  .directory = directory,
                                  .checked_ms = uv_now(loop)};
    uv_fs_event_init(loop, &watch->event);
    uv_timer_init(loop, &watch->timer);
    watch->event.data = watch->timer.data = watch;
}

/* Watches the directory. Without it or inotify, only requests cause a check. */
static void arm(struct sched_watch *watch)
{
    watch->files = store_files(watch->jobs->store);
    uv_fs_event_stop(&watch->event);
    uv_fs_event_start(&watch->event, on_event, watch->directory, 0);
}

void sched_watch_begin(struct sched_watch *watch)
{
    if (watch->directory == NULL)
        return;
    watch->begun = true;
    arm(watch);
}

void sched_watch_request(struct sched_watch *watch)
{
    if (watch->begun && uv_now(watch->timer.loop) - watch->checked_ms >= CHECK_INTERVAL_MS)
        queue_check(watch);
}

void sched_watch_follow(struct sched_watch *watch)
{
    if (!watch->begun || watch->stopped)
        return;
    if (store_files(watch->jobs->store) != watch->files) {
        arm(watch); /* drops pending events */
        if (!uv_is_active((uv_handle_t *)&watch->timer))
            uv_timer_start(&watch->timer, timer_passed, CHECK_DELAY_MS, 0);
    }
    if (!watch->is_certain && uv_is_active((uv_handle_t *)&watch->timer) &&
        store_is_sole_writer(watch->jobs->store))
        uv_timer_stop(&watch->timer); /* the store made the change itself */
}

void sched_watch_stop(struct sched_watch *watch)
{
    watch->stopped = true;
    uv_close((uv_handle_t *)&watch->event, NULL);
    uv_close((uv_handle_t *)&watch->timer, NULL);
}
