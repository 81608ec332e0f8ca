/**
 * What flows get under limits: max-min fair shares. Bytes per second. Pure; any thread.
 */
#pragma once
#include "cost/resource_problem.h"

/* How many of count flows are users. */
unsigned resource_users(const struct resource_limit *limit, const size_t *flow, size_t count);

/* INFINITY: none for so few. */
double resource_capacity(const struct resource_limit *limit, unsigned flows);

/* What each of count flows gets under these limits. */
void resource_share(const double *alone, const struct resource_limit *limit, size_t limit_count,
                    const size_t *flow, size_t count, double *ret_rate);
