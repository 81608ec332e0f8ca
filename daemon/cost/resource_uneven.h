/**
 * How far off a prediction by fair shares is where shares are not fair: of runs that a limit
 * explains only by what all flows get together. Pure.
 */
#pragma once
#include "cost/resource_problem.h"

/* Widens the limit's spread by how far off the last end is in runs with several of its users that
 * are not reproduced. */
void resource_uneven_widen(const struct resource_problem *problem, struct resource_limit *limit);
