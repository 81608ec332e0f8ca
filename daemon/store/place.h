/**
 * What hardware a machine of this name is expected to have, in the store's file: a node that lost a
 * gpu is another node by its fingerprint, but not by its name. Threads and failures as in
 * store/store.h.
 */
#pragma once
#include "health/baseline_set.h"
#include "store/store.h"

/* The gpus, nics, NUMA nodes and packages of graph are expected from now on (seen_s: now_s for
 * those that are new); those expected before that graph lacks are added to set, with when they were
 * first seen. forget: they are expected no longer instead. */
enum berth_code store_place_compare(struct store *store, const struct graph *graph, int64_t now_s,
                                    bool forget, struct baseline_set *set, struct berth_err *err);

/* Adds all that are expected of a machine of graph's name to set. */
enum berth_code store_place_list(struct store *store, const struct graph *graph,
                                 struct baseline_set *set, struct berth_err *err);

/* Expects the places of set, when nothing is expected of a machine of graph's name yet. */
enum berth_code store_place_put(struct store *store, const struct graph *graph,
                                const struct baseline_set *set, struct berth_err *err);
