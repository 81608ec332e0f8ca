/**
 * Retention of measurements. When a day has ended, its values are sorted by series (settled), so
 * that reading a series takes few pages. Later a median replaces the day's values. At last the
 * medians are deleted.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

#define STORE_KEEP_WEEK 7

struct keep {
    int64_t history_days; /* age in days up to which every value is kept */
    /* age in days up to which daily medians are kept */
    int64_t daily_days;
    /* nothing counts as old if fewer of the last STORE_KEEP_WEEK UTC days, with today, have a
     * run */
    int64_t witness_days;
};

/* Does a small part of the work, in one transaction of about ten milliseconds. Settles values of
 * past UTC days, which changes no answer. Replaces UTC days that ended history_days ago or earlier,
 * for each series, by one median with the lowest and highest value and their number. The median of
 * an even number is the mean of the middle two. Deletes the day's values, skips, notes, runs and
 * unused texts, except runs and notes that are the latest of a series or probe. If a day with a
 * median gets more values (the clock went back), the median of the larger number stays. The limit
 * witness_days protects values from a wrong clock. Does nothing while the store is in memory. Sets
 * *ret_more when there is more work: call again. Fails as store_write_run. */
enum berth_code store_retention(struct store *store, const struct keep *keep, bool *ret_more,
                                struct berth_err *err);
