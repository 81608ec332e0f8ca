/**
 * Reading history: one series over time, and all series at one moment.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

struct point {
    int64_t measured_at_s; /* when the run started; of a daily median: when the UTC day began */
    double value;
    /* 95 % interval, NAN unknown; of a daily median: the day's lowest and highest value */
    double low, high;
    uint32_t n;             /* repetitions behind it; of a daily median: how many values */
    int64_t run;            /* 0: a daily median, see store/retention.h */
    const char *conditions; /* JSON object text; NULL none */
};

struct history {
    struct point *item; /* ascending in time, then in run */
    size_t count;
    char **text; /* private: the conditions, each once */
    size_t text_count;
};
void store_history_done(struct history *history); /* frees what it owns, not the struct */

/* The series of this node with this metric, these places and exactly these axes (canonical, as
 * values_axes gives them), from since_s on. A series that is not there has no points. The caller
 * ends ret with store_history_done. */
enum berth_code store_history(struct store *store, const struct graph *graph, enum metric metric,
                              place_id from, place_id to, const char *axes, int64_t since_s,
                              struct history *ret_history, struct berth_err *err);

/* What store_load_latest would have given for one metric at at_s: the latest value of each series
 * whose run started at or before it, or the latest daily median that began before it, or the reason
 * why there was none. Into values, which the caller finishes. */
enum berth_code store_load_at(struct store *store, const struct graph *graph, enum metric metric,
                              int64_t at_s, struct values *values, struct berth_err *err);
