/**
 * Concurrent transfers of a request that are known already: the time of each, by the simulator and
 * the limits of cost/load.h.
 *
 * Pure; any thread.
 */
#pragma once
#include "cost/estimate.h"
#include "cost/limits.h"
#include "cost/transfer.h"

#define STEP_FLOWS_MAX SETS_FLOWS_MAX

struct step_flow {
    const struct transfer *transfer;
    double bytes;
    /* delay behind the first; the others share everything until then */
    double begin_ns;
    struct estimate time; /* result, from then on; never less than alone */
    const char *shared;   /* result: the limit that slowed it last, of the snapshot; NULL none */
    /* result: the capacity of that limit is stated; the time has no interval */
    bool is_nominal;
    /* result: its earliest and latest end where runs show that the limit is not shared fairly: the
     * first transfer takes all that it can; else time_ns */
    double soonest_ns, latest_ns;
};

/* At most STEP_FLOWS_MAX flows. NO_MEMORY. */
enum berth_code plan_step(const struct snapshot *snap, struct step_flow *flows, size_t count,
                          struct berth_err *err);
