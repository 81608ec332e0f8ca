/**
 * Candidates: which parts of a node may be what explains that transfers were slower together
 * (cost/resource_fit.h), and which transfers use them.
 *
 * Pure; any thread.
 */
#pragma once
#include "cost/resource_fit.h"
#include "cost/resource_structure.h"
#include "node/sets.h"

struct resource_candidates {
    const struct graph *graph;
    const struct resource_structure *structure;
    const struct resource_role *role;
    size_t role_count;
    const struct set_flow *const *flow; /* what the problem's flows are */
};

/* All roles, what is more particular first; the caller frees them. NULL when out of memory. */
struct resource_role *resource_candidates_roles(const struct graph *graph,
                                                const struct resource_structure *structure,
                                                size_t *ret_count);

/* Makes the problem's candidates, of roles with two users at least. Room, which becomes the
 * problem's: ret_kept, ret_is_end and ret_one_way for role_count, ret_users for role_count + 1
 * times the problem's flows. False when out of memory. */
bool resource_candidates_list(const struct resource_candidates *candidates,
                              struct resource_problem *problem, struct resource_role *ret_kept,
                              unsigned char *ret_users, bool *ret_is_end, size_t *ret_one_way);
