/**
 * Transfers together: how long each of several that begin at the same moment takes, when they share what was found to be shared, or what structure shows where nobody
 * measured. As plan_load.h has it, for a few transfers whose ways are known already.
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
    struct prediction time;   /* result; never less than alone */
    const char *shared;       /* result: what slowed it last, of the snapshot; NULL nothing */
    bool is_nominal;          /* result: of structure, nothing was measured together in it; the time has no interval */
    double soonest_ns, latest_ns; /* result: its end where what slows it is shared as sets show that it is not fairly: those who are first take all that they can, whoever is; else time_ns */
};

/* At most STEP_FLOWS_MAX flows. NO_MEMORY. */
enum berth_code plan_step(struct snapshot *snap, struct step_flow *flows, size_t count, struct berth_err *err);
