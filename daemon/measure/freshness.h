/**
 * Choice of the measurement that is due next in the background: some metrics of one place. It
 * measures all their cells from and to that place. Pure.
 *
 * Measured values get old with freshness_s. An attempt counts as a measurement, so that a cell that
 * cannot be measured is not tried again and again. A value that changed makes its metric due once
 * at a neighbour, to tell noise from change: its other end, or another GPU with the same other end.
 * An unconfirmed finding makes its cell due some minutes later (snapshot->second_look). Metrics
 * that were never measured are not begun.
 *
 * Beside a job (measure/beside.h) only values of GPUs that nobody uses are chosen, and none that is
 * in doubt: a value that changed and a finding want a measurement of an idle node. Attempts beside
 * a job count beside jobs only.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "measure/gpu_use.h"
#include "node/snapshot.h"

#define FRESHNESS_AGAIN_S 300

/* Attempts, by metric and place of the graph; private. */
struct freshness {
    const struct graph *graph; /* referenced; NULL none */
    int64_t *tried_s;          /* time of the latest; 0 never */
    int64_t *tried_beside_s;   /* ... beside a job */
    int64_t *wanted_s;         /* a value or a neighbour has changed: due from then on; 0 not */
    int64_t *used_s;           /* by place: time of the latest */
};

/* Measurement of some metrics at one place. */
struct freshness_unit {
    place_id place;    /* PLACE_NONE: nothing is ever due */
    enum metric first; /* the one that is due, and all, which others join */
    bool metric[METRIC_COUNT];
    bool is_wanted; /* a value changed, or a finding is unconfirmed */
    bool is_beside; /* beside a job */
    int64_t due_s;
};

void freshness_done(struct freshness *freshness);

/* Returns the unit that is due at now_s, or else the next one. Values that changed go first, then
 * the metrics on which plans and health rest, then the place that was tried longest ago, then the
 * oldest. Other due metrics of the same program join, up to most in all. used: GPUs in use, to
 * choose what is measured beside their users; NULL to choose for an idle node. ret_oldest_s: time
 * of the oldest value that the latest attempt renewed, or that was not tried yet; 0 none. Fails
 * with NO_MEMORY. */
enum berth_code freshness_next(struct freshness *freshness, const struct snapshot *snapshot,
                               int64_t freshness_s, int64_t now_s, unsigned most,
                               const struct gpu_use *used, struct freshness_unit *ret_unit,
                               int64_t *ret_oldest_s, struct berth_err *err);

/* Notes an attempt at the unit, which began at begun_s. */
void freshness_try(struct freshness *freshness, const struct freshness_unit *unit, int64_t begun_s);

/* Returns the values of a unit beside a job that renew those of before: with a number, of the same
 * cell, not in doubt, and no different (snapshot_value_differs). Those that differ make their
 * metric due on an idle node. NULL when out of memory. */
struct values *freshness_renewed(struct freshness *freshness, const struct snapshot *before,
                                 const struct values *measured, int64_t now_s);

/* Compares the unit's values before and after. Those that changed (snapshot_value_differs) make
 * their metric due, unless the unit was measured for such a reason itself. Snapshots of different
 * graphs are not compared. */
void freshness_compare(struct freshness *freshness, const struct freshness_unit *unit,
                       const struct snapshot *before, const struct snapshot *after, int64_t now_s);
