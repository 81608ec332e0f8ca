/**
 * Transfers together: how long each of several that begin at the same moment takes, when they share
 * what was found to be shared, or what structure shows where nobody measured. As cost/load.h has
 * it, for a few transfers whose ways are known already.
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
    /* how much later than the first it begins: until then the others have all to themselves */
    double begin_ns;
    struct estimate time; /* result, from then on; never less than alone */
    const char *shared;   /* result: what slowed it last, of the snapshot; NULL nothing */
    /* result: of structure, nothing was measured together in it; the time has no interval */
    bool is_nominal;
    /* result: its end where what slows it is shared as sets show that it is not fairly: those who
     * are first take all that they can, whoever is; else time_ns */
    double soonest_ns, latest_ns;
};

/* At most STEP_FLOWS_MAX flows. NO_MEMORY. */
enum berth_code plan_step(const struct snapshot *snap, struct step_flow *flows, size_t count,
                          struct berth_err *err);
