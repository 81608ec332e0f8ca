/**
 * Reading history: one series over time, or all series at one time.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

struct point {
    int64_t measured_at_s; /* start of the run; for a daily median, start of the UTC day */
    double value;
    /* 95 % interval, NAN unknown; for a daily median, the day's lowest and highest value */
    double low, high;
    uint32_t n;             /* repetitions; for a daily median, the number of values */
    int64_t run;            /* 0: a daily median, see store/retention.h */
    const char *conditions; /* JSON object text; NULL none */
};

struct history {
    struct point *item; /* ascending in time, then in run */
    size_t count;
    char **text; /* private: the conditions, each once */
    size_t text_count;
};
void store_history_done(struct history *history); /* frees its contents, not the struct */

/* One series of this node. */
struct history_series {
    enum metric metric;
    place_id from, to;
    const char *axes; /* exactly these: canonical, as from values_axes */
};

/* Reads the series from since_s on. An unknown series has no points. End ret with
 * store_history_done. */
enum berth_code store_history(struct store *store, const struct graph *graph,
                              const struct history_series *series, int64_t since_s,
                              struct history *ret_history, struct berth_err *err);

/* Adds the values of one metric as of at_s. Takes of each series the latest value whose run had
 * started, or the latest daily median whose day had begun. Otherwise adds the reason for a missing
 * value. The caller finishes values. */
enum berth_code store_load_at(struct store *store, const struct graph *graph, enum metric metric,
                              int64_t at_s, struct values *values, struct berth_err *err);
