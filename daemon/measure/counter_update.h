/**
 * Error counters of this machine, and errors that its kernel logged: reads them and keeps them in
 * counters.jsonl of the state directory, so that a restart of the daemon loses no rise. Blocks on
 * the disk and on sysfs.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/files.h"
#include "node/counters.h"
#include "node/graph.h"
#include "store/store.h"

/* Reads the counters after those of the state directory, else after before (NULL none). state_dir
 * and events_file "": none. A file that cannot be written is logged. Fails with NO_MEMORY. */
enum berth_code counter_update(const struct files *io, const struct graph *graph,
                               const char *state_dir, const char *events_file, int64_t now_s,
                               const struct counters *before, struct counters *ret,
                               struct berth_err *err);

/* Forgets events of the selected places, all if NULL, in counters and in the state directory. Later
 * ones are new. */
void counter_update_accept(const struct graph *graph, const bool *selected, const char *state_dir,
                           struct counters *counters);

/* Enters the reasons that held clocks of GPUs down at the end of a run (condition gpu_throttle),
 * and keeps them. */
void counter_update_with_run(const struct graph *graph, const struct run *run,
                             const char *state_dir, struct counters *counters);

/* True when health says something of either, so that what it says may have changed. */
bool counter_update_changes(const struct counters *before, const struct counters *after);
