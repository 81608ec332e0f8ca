/**
 * Past of a snapshot: the baseline of each value, and the time when each finding appeared. The
 * store keeps both. These functions update them and add them to a snapshot before it is published.
 *
 * Blocks on the disk: on the thread pool, or before the loop runs. If the store fails, the snapshot
 * keeps its values without a past and gets a note.
 */
#pragma once
#include <stdint.h>

#include "health/limits.h"
#include "node/snapshot.h"
#include "store/store.h"

struct history_env {
    struct health_limits limits;
    int64_t now_s;
    bool is_acceptance;     /* findings that clear now were accepted, not repaired */
    char state_dir[4096];   /* folder of counters.jsonl; "" none */
    char events_file[4096]; /* of berth-probe-events; "" none */
    char folder[4096];      /* folder for import and export of baselines; "" none */
};

/* Call it first on a snapshot from discovery. Imports the baseline from the folder when the store
 * has none of this node. Notes hardware that the machine of this name had earlier and lacks now.
 * Then acts as history_load. */
void history_begin(struct store *store, struct snapshot *snapshot, const struct history_env *env);

/* Adds the baselines to the snapshot, assesses it and stores the findings. Replaces this module's
 * earlier notes, including those copied from another snapshot. env->now_s is the time of new
 * findings that have none of their own. */
void history_load(struct store *store, struct snapshot *snapshot, const struct history_env *env);

/* Adds the values of a stored run to the baselines, then acts as history_load. run NULL: none. */
void history_advance(struct store *store, struct snapshot *snapshot, const struct run *run,
                     const struct history_env *env);

/* True when a value changed by more than noise: snapshot_value_differs, and by more than so many
 * robust standard deviations of its baseline (limits->mads), or of the least that health assumes.
 * A value that only one of them has, is no change. */
bool history_differs(const struct snapshot *before, const struct snapshot *after,
                     const struct health_limits *limits);
