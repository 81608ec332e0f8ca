#include "serve/hwloc_keep.h"

#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "discover/backend_hwloc_measured.h"
#include "discover/discover.h"
#include "measure/sched.h"

#define BESIDE     "hwloc.xml"         /* as in client/lib/task/hwloc_file.c */
#define MARK       "\"BerthSnapshot\"" /* of each file that is written here */
#define BYTES_MOST (64u << 20)

static bool put_text(FILE *file, const void *text)
{
    /* the unit's umask leaves nothing to others */
    return fchmod(fileno(file), 0644) == 0 && fputs(text, file) >= 0;
}

/* True when the path has a file of somebody else, which is left alone. */
static bool is_foreign(const char *path)
{
    const struct files here = {.root = ""};
    char *text = NULL;
    enum berth_code code = files_read(&here, path, BYTES_MOST, &text, NULL);
    bool is_ours = code == BERTH_ABSENT || (code == BERTH_OK && strstr(text, MARK) != NULL);
    free(text);
    return !is_ours;
}

static void work(uv_work_t *request)
{
    struct hwloc_keep *keep = request->data;
    char *xml = NULL, *name = NULL, *measured = NULL;
    enum berth_code code = discover_xml(keep->io, NULL, &xml, &name, &keep->err);
    if (code == BERTH_OK)
        code = backend_hwloc_measured(xml, name, keep->snapshot, &measured, &keep->err);
    if (code == BERTH_OK && is_foreign(keep->path))
        err_set(&keep->err, BERTH_IO, "%s is not a file of berthd; hwloc_file names another path",
                keep->path);
    else if (code == BERTH_OK)
        files_replace(keep->path, put_text, measured, &keep->err);
    free(xml);
    free(name);
    free(measured);
    malloc_trim(0); /* return the memory that hwloc freed */
}

static void follow(struct hwloc_keep *keep);

static void worked(uv_work_t *request, int status)
{
    struct hwloc_keep *keep = request->data;
    (void)status;
    snapshot_unref(keep->snapshot);
    keep->snapshot = NULL;
    if (keep->err.code != BERTH_OK && strcmp(keep->err.detail, keep->logged.detail) != 0)
        log_line(LOG_LEVEL_NOTICE, "tasks have no topology file for hwloc: %s", keep->err.detail);
    keep->logged = keep->err;
    follow(keep);
}

/* Starts the next try when one is due. */
static void follow(struct hwloc_keep *keep)
{
    uint64_t version = sched_values_version(keep->sched) + 1;
    if (keep->snapshot != NULL || keep->version == version ||
        sched_state(keep->sched) != SCHED_READY || sched_snapshot(keep->sched)->has_standin)
        return;
    keep->version = version;
    keep->err = (struct berth_err){0};
    keep->snapshot = snapshot_ref(sched_snapshot(keep->sched));
    if (uv_queue_work(keep->loop, &keep->request, work, worked) != 0) {
        snapshot_unref(keep->snapshot);
        keep->snapshot = NULL;
    }
}

static void state_changed(struct notifier_listener *listener)
{
    follow((struct hwloc_keep *)((char *)listener - offsetof(struct hwloc_keep, listener)));
}

/* Path of a file: a name without a folder stands beside the socket. NULL when out of memory, or
 * beside an abstract socket. */
static char *make_path(const char *file, const char *socket)
{
    const char *slash = strrchr(socket, '/');
    char *path = NULL;
    if (strchr(file, '/') != NULL)
        return strdup(file);
    if (*socket == '@')
        return NULL;
    if (slash == NULL)
        return strdup(file);
    return asprintf(&path, "%.*s/%s", (int)(slash - socket), socket, file) < 0 ? NULL : path;
}

/* Removes the file of an earlier configuration, which tasks would take for current. */
static void remove_other(const char *path, const char *socket)
{
    char *beside = make_path(BESIDE, socket);
    if (beside != NULL && (path == NULL || strcmp(path, beside) != 0) && !is_foreign(beside))
        unlink(beside);
    free(beside);
}

enum berth_code hwloc_keep_begin(struct hwloc_keep *keep, uv_loop_t *loop,
                                 struct notifier *notifier, const struct sched *sched,
                                 const struct config *config, const struct files *io,
                                 struct berth_err *err)
{
    const char *file = config->hwloc_file, *socket = config->socket;
    if (config->node != NULL)
        return BERTH_OK;
    char *path = file != NULL ? make_path(file, socket) : NULL;
    remove_other(path, socket);
    if (file == NULL || (path == NULL && *socket == '@'))
        return BERTH_OK;
    if (path == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    *keep = (struct hwloc_keep){.loop = loop,
                                .notifier = notifier,
                                .sched = sched,
                                .io = io,
                                .path = path,
                                .listener.woken = state_changed};
    keep->request.data = keep;
    notifier_listen(notifier, &keep->listener);
    follow(keep);
    return BERTH_OK;
}

void hwloc_keep_done(struct hwloc_keep *keep)
{
    if (keep->path == NULL)
        return;
    notifier_leave(keep->notifier, &keep->listener);
    free(keep->path);
    keep->path = NULL;
}
