/**
 * Transfers together: how long each of several that begin at the same moment takes, when they share what was found to be shared.
 *
 * A flow waits for what starting it costs, then moves its bytes at the rate it has alone, or at less while resources that it uses with others are full: they share
 * those max-min fairly (resource_fit.h), and rates are found anew whenever a flow begins or ends. What was inferred of one metric says nothing of transfers by
 * another: such flows do not disturb each other here.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan_move.h"
#include "resource_model.h"

#define STEP_FLOWS_MAX SETS_FLOWS_MAX

struct step_flow {
    const struct move *move;
    double bytes;
    struct prediction time;               /* result; never less than alone */
    const struct resource_found *shared;  /* result: of the snapshot, what slowed it last; NULL nothing */
};

/* At most STEP_FLOWS_MAX flows. NO_MEMORY. */
enum berth_code plan_step(struct snapshot *snap, struct step_flow *flows, size_t count, struct berth_err *err);
