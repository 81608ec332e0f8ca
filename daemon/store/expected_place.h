/**
 * Expected hardware of a machine of this name, in the store's file. A node that lost a GPU has
 * another fingerprint but the same name. Threads and failures as in store/store.h.
 */
#pragma once
#include "health/baseline.h"
#include "store/store.h"

/* Makes the GPUs, NICs, NUMA nodes and packages of graph expected (new ones with seen_s now_s).
 * Adds expected ones that graph lacks to set, with the time when they were first seen. forget:
 * stops expecting those instead. */
enum berth_code store_expected_compare(struct store *store, const struct graph *graph,
                                       int64_t now_s, bool forget, struct baseline_set *set,
                                       struct berth_err *err);

/* Adds everything expected of a machine of graph's name to set. */
enum berth_code store_expected_list(struct store *store, const struct graph *graph,
                                    struct baseline_set *set, struct berth_err *err);

/* Makes set's places expected, unless something is expected of a machine of graph's name
 * already. */
enum berth_code store_expected_put(struct store *store, const struct graph *graph,
                                   const struct baseline_set *set, struct berth_err *err);
