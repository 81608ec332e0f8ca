/**
 * Sets in the store: every measurement of each set, the latest of which a start reads. Private to
 * the store but for store_set_load.
 */
#pragma once
#include "node/sets.h"
#include "store/store.h"

/* Inside a call's transaction (store/core.h): the sets of a run on this graph, measured ones only,
 * else BAD_DATA. */
enum berth_code store_set_write(struct store *store, const struct graph *graph,
                                const struct sets *sets, struct berth_err *err);

/* Adds the latest of every set of this node. Sets with a place that the graph no longer has are
 * left out. Blocks on the disk; fails as store_load_latest does. */
enum berth_code store_set_load(struct store *store, const struct graph *graph, struct sets *sets,
                               struct berth_err *err);
