/**
 * Slowdown of the hops of an option of Route: they move at once, beside the
 * concurrent transfers of the request and, where both directions are asked for, beside as many
 * bytes that come back. One simulator (cost/step.h) gives their times. Pure; any thread.
 */
#pragma once
#include "plan/route/work.h"

/* Checks the request's concurrent transfers and finds the mechanism of each, the faster one alone.
 * INVALID_PARAMETER (concurrent), and as plan_route has it for their ends. */
enum berth_code contention_begin(struct route_work *work, struct berth_err *err);

/* Slows the hops, which are as alone, and finds shares, pieces and time. NO_MEMORY. */
enum berth_code contention_apply(const struct route_work *work, struct route_option *option,
                                 struct berth_err *err);
