/**
 * The baselines of this node's series, in the store's file. Threads and failures as in
 * store/store.h.
 */
#pragma once
#include "health/baseline_set.h"
#include "store/store.h"

/* Each baseline that values has a number for, at that item's index of ret_baseline, which has room
 * for values->count; the others there are left alone. values must be finished. */
enum berth_code store_baseline_load(struct store *store, const struct graph *graph,
                                    const struct values *values, struct baseline *ret_baseline,
                                    struct berth_err *err);

/* Takes what a run measured into the baselines, as baseline_take does, in one transaction. A run
 * must be taken at most once; one that never is, because the daemon was killed between the two,
 * costs a baseline one value and a count of runs one run. */
enum berth_code store_baseline_take(struct store *store, const struct graph *graph,
                                    const struct values *values, bool is_overloaded,
                                    const struct judge_limits *limits, struct berth_err *err);

/* Makes each of the values whose flag is set what is expected of its series from now_s on, as
 * baseline_accept does; all or none. */
enum berth_code store_baseline_accept(struct store *store, const struct graph *graph,
                                      const struct values *values, const bool *chosen,
                                      const struct judge_limits *limits, int64_t now_s,
                                      struct berth_err *err);

/* Adds all baselines of this node with places that graph has. */
enum berth_code store_baseline_list(struct store *store, const struct graph *graph,
                                    struct baseline_set *set, struct berth_err *err);

/* Writes the baselines of set, over what is there; all or none. */
enum berth_code store_baseline_put(struct store *store, const struct graph *graph,
                                   const struct baseline_set *set, struct berth_err *err);

/* How many this node has. */
enum berth_code store_baseline_count(struct store *store, size_t *ret_count, struct berth_err *err);
