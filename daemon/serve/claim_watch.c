#include "serve/claim_watch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "claim/owner.h"

/* Invariant: an entry is in the list from claim_watch_add to claim_watch_remove. Afterwards its
 * closing handle owns it. */
struct entry {
    char id[CLAIM_ID_SIZE];
    struct claim_watch *watch; /* NULL while it closes */
    struct claim *claim;       /* a reference */
    int fd;                    /* the pidfd; -1 for a cgroup */
    union {
        uv_handle_t handle;
        uv_poll_t poll;
        uv_fs_event_t file;
    } uv;
    struct entry *next;
};

struct claim_watch {
    uv_loop_t *loop;
    const struct files *io;
    void (*ended)(void *arg, const char *id);
    void *arg;
    struct entry *first;
};

enum berth_code claim_watch_new(uv_loop_t *loop, const struct files *io,
                                void (*ended)(void *arg, const char *id), void *arg,
                                struct claim_watch **ret_watch, struct berth_err *err)
{
    struct claim_watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory to watch claims");
    *watch = (struct claim_watch){.loop = loop, .io = io, .ended = ended, .arg = arg};
    *ret_watch = watch;
    return BERTH_OK;
}

static void free_entry(struct entry *entry)
{
    if (entry->fd >= 0)
        close(entry->fd);
    claim_unref(entry->claim);
    free(entry);
}

static void closed(uv_handle_t *handle) { free_entry(handle->data); }

/* Checks the owner itself on every event: a cgroup's file also changes when the cgroup is
 * frozen. */
static void check_owner(struct entry *entry)
{
    struct claim_watch *watch = entry->watch;
    if (watch != NULL && !claim_owner_lives(watch->io, &entry->claim->owner))
        watch->ended(watch->arg, entry->id);
}

/* Reports the end of a process. Its pidfd stays readable, so polling stops. The process may not be
 * reaped yet, or its pid may be in use again, so the pid is not checked. */
static void process_ended(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct entry *entry = poll->data;
    uv_poll_stop(poll);
    if (entry->watch != NULL)
        entry->watch->ended(entry->watch->arg, entry->id);
}

static void cgroup_changed(uv_fs_event_t *file, const char *name, int events, int status)
{
    (void)name;
    (void)events;
    (void)status;
    check_owner(file->data);
}

static enum berth_code watch_process(struct claim_watch *watch, struct entry *entry,
                                     struct berth_err *err)
{
    entry->fd = (int)syscall(SYS_pidfd_open, entry->claim->owner.pid, 0);
    if (entry->fd < 0 && errno == ESRCH)
        return err_set(err, BERTH_ABSENT, "process %jd has ended",
                       (intmax_t)entry->claim->owner.pid);
    if (entry->fd < 0 && (errno == ENOSYS || errno == EPERM))
        return err_set(err, BERTH_UNAVAILABLE,
                       "this kernel does not tell when a process ends (pidfd_open): name a cgroup, "
                       "or the ttl alone");
    if (entry->fd < 0)
        return err_set_errno(err, BERTH_IO, errno, "cannot watch process %jd",
                             (intmax_t)entry->claim->owner.pid);
    int failed = uv_poll_init(watch->loop, &entry->uv.poll, entry->fd);
    if (failed != 0)
        return err_set(err, BERTH_IO, "cannot watch process %jd: %s",
                       (intmax_t)entry->claim->owner.pid, uv_strerror(failed));
    uv_poll_start(&entry->uv.poll, UV_READABLE, process_ended);
    return BERTH_OK;
}

static enum berth_code watch_cgroup(struct claim_watch *watch, struct entry *entry,
                                    bool *ret_opened, struct berth_err *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%s/cgroup.events", watch->io->root, entry->claim->owner.cgroup);
    uv_fs_event_init(watch->loop, &entry->uv.file);
    *ret_opened = true;
    int failed = uv_fs_event_start(&entry->uv.file, cgroup_changed, path, 0);
    if (failed == UV_ENOENT)
        return err_set(err, BERTH_ABSENT, "the cgroup %.120s is gone", entry->claim->owner.cgroup);
    if (failed != 0)
        return err_set(err, failed == UV_ENOMEM ? BERTH_NO_MEMORY : BERTH_IO,
                       "cannot watch a cgroup: %s", uv_strerror(failed));
    return BERTH_OK;
}

enum berth_code claim_watch_add(struct claim_watch *watch, const struct claim *claim,
                                struct berth_err *err)
{
    if (watch == NULL || (claim->owner.pid == 0 && claim->owner.cgroup == NULL))
        return BERTH_OK;
    struct entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory to watch a claim");
    bool opened = false;
    entry->fd = -1;
    entry->watch = watch;
    entry->claim = claim_ref((struct claim *)claim);
    memcpy(entry->id, claim->id, sizeof entry->id);
    enum berth_code code = claim->owner.pid != 0 ? watch_process(watch, entry, err)
                                                 : watch_cgroup(watch, entry, &opened, err);
    opened |= code == BERTH_OK;
    entry->uv.handle.data = entry;
    /* Check again now that it is watched: every later end causes an event. */
    if (code == BERTH_OK && !claim_owner_lives(watch->io, &claim->owner))
        code = err_set(err, BERTH_ABSENT, "what the claim was to end with has ended");
    if (code != BERTH_OK && !opened) {
        free_entry(entry);
    } else if (code != BERTH_OK) {
        entry->watch = NULL;
        uv_close(&entry->uv.handle, closed);
    } else {
        entry->next = watch->first;
        watch->first = entry;
    }
    return code;
}

static void drop(struct entry **link)
{
    struct entry *entry = *link;
    *link = entry->next;
    entry->watch = NULL;
    uv_close(&entry->uv.handle, closed);
}

void claim_watch_remove(struct claim_watch *watch, const char *id)
{
    if (watch == NULL)
        return;
    for (struct entry **link = &watch->first; *link != NULL; link = &(*link)->next)
        if (strcmp((*link)->id, id) == 0) {
            drop(link);
            return;
        }
}

void claim_watch_close(struct claim_watch *watch)
{
    if (watch == NULL)
        return;
    while (watch->first != NULL)
        drop(&watch->first);
    free(watch);
}
