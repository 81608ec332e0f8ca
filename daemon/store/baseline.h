/**
 * Baselines of this node's series in the store's file. Threads and failures as in store/store.h.
 */
#pragma once
#include "health/baseline.h"
#include "store/store.h"

/* Loads the baselines of values' numbers into ret_baseline, at the index of each item. Leaves the
 * others unchanged. The array ret_baseline has room for values->count, and values must be
 * finished. */
enum berth_code store_baseline_load(struct store *store, const struct graph *graph,
                                    const struct values *values, struct baseline *ret_baseline,
                                    struct berth_err *err);

/* Adds a run's values to the baselines, as baseline_record does, in one transaction. Add a run at
 * most once. is_bad: by the values' index, NULL none is. If the daemon is killed before, each
 * baseline lacks one value and each count of runs one run. */
enum berth_code store_baseline_record(struct store *store, const struct graph *graph,
                                      const struct values *values, bool is_overloaded,
                                      const bool *is_bad, const struct health_limits *limits,
                                      struct berth_err *err);

/* Accepts the values whose flag is set as expected from now_s on, as baseline_accept does; all or
 * none. */
enum berth_code store_baseline_accept(struct store *store, const struct graph *graph,
                                      const struct values *values, const bool *chosen,
                                      const struct health_limits *limits, int64_t now_s,
                                      struct berth_err *err);

/* Adds all baselines of this node whose places graph has. */
enum berth_code store_baseline_list(struct store *store, const struct graph *graph,
                                    struct baseline_set *set, struct berth_err *err);

/* Writes set's baselines, replacing existing ones; all or none. */
enum berth_code store_baseline_put(struct store *store, const struct graph *graph,
                                   const struct baseline_set *set, struct berth_err *err);

/* Counts this node's baselines. */
enum berth_code store_baseline_count(struct store *store, size_t *ret_count, struct berth_err *err);
