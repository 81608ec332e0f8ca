/**
 * The search for GPUs by time: arcs (each flow alone between each two GPUs), the resources that
 * they use at their highest capacity, and choices priced by the simulator.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/bind/price.h"

struct bind_objective_choice {
    bool in_order;
    const double *far;  /* search/search.h */
    const double *meet; /* of flows with the host; not looked at where there are none */
    const uint16_t *unit, *most;
};

struct bind_objective {
    struct search_arc *arc;
    struct search_use *use;
    size_t use_count, use_room;
    double *start_ns; /* by resource */
};

/* Fills arcs and resources; plan_bind_objective_done in any case. False when out of memory. */
bool plan_bind_objective_init(struct bind_objective *objective, const struct bind_price *price);
void plan_bind_objective_done(struct bind_objective *objective);

/* The slots for which the iteration takes least; in order where no other choice takes less by
 * POLICY_IN_ORDER. bound_ns is NAN where nothing bounds all choices. NO_MEMORY. */
enum berth_code plan_bind_objective_search(struct bind_price *price,
                                           const struct bind_objective_choice *choice,
                                           uint16_t *ret_slot, struct search_result *ret,
                                           struct berth_err *err);
