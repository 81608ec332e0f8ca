/**
 * Why a plan by traffic is as it is, in sentences: what ends last, what transfers share, and the
 * same of the launcher's order where that is slower. Every figure in them is one that the step was
 * priced with.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/bind/bind.h"
#include "plan/bind/price.h"

/* order: NULL when it takes as long. What the plan itself shares is among the answer's warnings,
 * the rest among its reasons. */
void plan_bind_say(const struct graph *graph, const struct bind_priced *ours,
                   const struct bind_priced *order, struct bind_answer *answer);
