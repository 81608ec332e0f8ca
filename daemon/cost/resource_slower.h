/**
 * Which transfers were slower together than alone, of the users of what they may share. Pure.
 */
#pragma once
#include "cost/resource_problem.h"

/* Marks the users (by flow, 1 a user) that were slower than alone in a run with another one. */
void resource_slower_mark(const struct resource_problem *problem, const unsigned char *users,
                          unsigned char *ret_slower);

/* Whether a user gets far more alone than the limit ever lets through, though it was never slower
 * in a run with another one: then it does not go through it. */
bool resource_slower_contradicts(const struct resource_problem *problem,
                                 const struct resource_limit *limit);
