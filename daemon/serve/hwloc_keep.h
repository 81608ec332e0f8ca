/**
 * The file by which hwloc in tasks loads this node: the XML of Export, kept current. It is written
 * on the thread pool, all or nothing and readable by all, after each snapshot that differs from the
 * one before, never while something is measured. A failure is one line in the log, and no failure
 * of the daemon. Loop thread only. Zero-initialise.
 */
#pragma once
#include <uv.h>

#include "base/config.h"
#include "base/err.h"
#include "base/files.h"
#include "varlink/notifier.h"

struct sched;
struct snapshot;

struct hwloc_keep {
    uv_work_t request; /* private, all of it */
    uv_loop_t *loop;
    struct notifier *notifier;
    struct notifier_listener listener;
    const struct sched *sched;
    const struct files *io;
    char *path; /* NULL: no file is kept */
    /* of the last try; 0 none */
    uint64_t version;
    const struct snapshot *snapshot; /* NULL: no thread is at work */
    struct berth_err err, logged;    /* of this try, of the last one that was logged */
};

/* Keeps the file that the configuration names, unless it names none or the node is a recorded one.
 * All arguments must outlive the loop. NO_MEMORY. */
enum berth_code hwloc_keep_begin(struct hwloc_keep *keep, uv_loop_t *loop,
                                 struct notifier *notifier, const struct sched *sched,
                                 const struct config *config, const struct files *io,
                                 struct berth_err *err);

/* Leaves the file to the tasks that have been given its path. Call it when the loop has ended. */
void hwloc_keep_done(struct hwloc_keep *keep);
