/**
 * What an answer of Route says of other sizes than the one that was asked for: where another option becomes the fastest, and from where on the first gets 80 % of its highest rate.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan_route_answer.h"

/* The crossovers and b80_bytes of an answer whose options are priced and in order. */
void plan_route_sizes(struct route_answer *answer);
