/**
 * What becomes of measurements in the store: when a day has ended, its values are sorted by series
 * (settled), so that a series is read from few pages; after some time a day's values give way to
 * their median, and the medians go in the end.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

#define STORE_KEEP_WEEK 7

struct keep {
    int64_t history_days; /* how long every value is kept */
    /* how long daily medians are kept, counted like history_days from today */
    int64_t daily_days;
    /* nothing is old unless so many of the last STORE_KEEP_WEEK UTC days, today's included, have
     * a run */
    int64_t witness_days;
};

/* Does a small part of what there is to do, in one transaction of some ten milliseconds. Values of
 * UTC days that have ended are settled, which changes no answer. A UTC day that ended history_days
 * ago or earlier becomes, for each series, one median (of an even number: the mean of the middle
 * two) with the lowest and the highest value and their number; its values, skips, notes, runs and
 * the texts that nobody else uses go, except the runs and notes that are the latest of a series or
 * a probe. When a day that is a median already gets more values (the clock went back), the median
 * of the larger number stands. witness_days keep what a wrong clock takes for old. Nothing while
 * the store is in memory. ret_more: there is more to do now; call again. Fails as store_write_run
 * does. */
enum berth_code store_retention(struct store *store, const struct keep *keep, bool *ret_more,
                                struct berth_err *err);
