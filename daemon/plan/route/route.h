/**
 * Folder daemon/plan/route: paths between two memories: direct, through others, several at once;
 *   the price of each, and the order of the options.
 *
 * Main types: struct route_request, struct route_option, struct route_answer.
 * Uses: base node cost
 * Public headers: call.h route.h
 * Shown by: tests/unit/plan/route, `berth route`
 *
 * Route: the ways in which bytes can go from one memory to another, and what each costs.
 * docs/ADVICE.md has the formulas.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/route/answer.h"

/* Fails with INVALID_PARAMETER (from, to, bytes, meanwhile: naming it), NOTHING_ALLOWED, NOT_ENOUGH
 * when an end cannot hold so many bytes, UNAVAILABLE when an end is a gpu that was lost or is cut
 * into slices, NOT_MEASURED when nothing is known of any way, NO_MEMORY. */
enum berth_code plan_route(const struct snapshot *snap, const struct route_request *request,
                           struct route_answer *ret, struct berth_err *err);
void plan_route_done(struct route_answer *answer);
