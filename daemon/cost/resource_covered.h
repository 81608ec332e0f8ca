/**
 * What a limit of all that goes into a gpu, or out of it, covers: transfers that were slower in a
 * run with others of its users, and those that share a link with one of them. Of another link of
 * that gpu it says nothing. Transfers of which no links are known count as sharing them.
 *
 * Pure; any thread.
 */
#pragma once
#include "cost/resource_fit.h"
#include "cost/resource_structure.h"
#include "node/sets.h"

/* Takes the flows out of row, 1 a user, that such a limit does not cover. flow: what the problem's
 * numbers stand for. False when out of memory. */
bool resource_covered_restrict(const struct resource_problem *problem,
                               const struct set_flow *const *flow,
                               const struct resource_structure *structure, unsigned char *row);

/* Whether a transfer shares a link with one of these users, or is one of them. */
bool resource_covered_has(const struct resource_structure *structure, const struct set_flow *user,
                          size_t user_count, place_id from, place_id to);
