/**
 * What a snapshot knows of the past: the baseline of each value, and since when each finding
 * stands. Both are kept in the store; this brings them up to date and gives them to a snapshot
 * before it is published.
 *
 * Blocks on the disk: on the thread pool, or before the loop runs. A store that fails costs the
 * snapshot its past, not its values, and becomes a note of the snapshot.
 */
#pragma once
#include <stdint.h>

#include "health/judge_limits.h"
#include "node/snapshot.h"
#include "store/store.h"

struct history_env {
    struct judge_limits limits;
    int64_t now_s;
    bool is_acceptance; /* what clears now was accepted, not mended */
    char folder[4096];  /* where baselines are imported from and exported to; "" nowhere */
};

/* Before anything else of a snapshot that comes from discovery: imports the baseline from the
 * folder when the store has none of this node, and notes hardware that the machine of this name had
 * earlier and has no longer. Then as history_recall. */
void history_begin(struct store *store, struct snapshot *snapshot, const struct history_env *env);

/* Gives the snapshot its baselines, judges it, and keeps what is found. What an earlier call noted
 * in it, or in the one that its notes are from, is forgotten. env->now_s is when what is new
 * appeared, unless a finding knows better. */
void history_recall(struct store *store, struct snapshot *snapshot, const struct history_env *env);

/* After a run that is stored: its values (run NULL: none) are taken into the baselines first. */
void history_advance(struct store *store, struct snapshot *snapshot, const struct run *run,
                     const struct history_env *env);
