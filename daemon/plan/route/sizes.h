/**
 * What an answer of Route says of other sizes than the one that was asked for: where another option
 * becomes the fastest, and from where on the first gets 80 % of its highest rate.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/route/answer.h"

/* The crossovers and b80_bytes of an answer whose options are priced and in order. A split stands
 * for what is fastest of its first two, three, ... ways. */
void plan_route_sizes(const struct way_ends *ends, struct route_answer *answer);
