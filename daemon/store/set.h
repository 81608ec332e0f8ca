/**
 * Concurrent-transfer runs (sets) in the store: every measurement of each set; a start reads the
 * latest. Private to the store, except store_set_load.
 */
#pragma once
#include "node/sets.h"
#include "store/store.h"

/* Writes a run's sets on this graph, inside a call's transaction (store/core.h). Fails with
 * BAD_DATA for a set that was not measured. */
enum berth_code store_set_write(struct store *store, const struct graph *graph,
                                const struct sets *sets, struct berth_err *err);

/* Adds the latest measurement of each set of this node, except sets with a place that graph lacks.
 * Blocks on the disk; fails as store_load_latest. */
enum berth_code store_set_load(struct store *store, const struct graph *graph, struct sets *sets,
                               struct berth_err *err);
