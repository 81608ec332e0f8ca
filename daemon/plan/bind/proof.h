/**
 * What Bind proves of its choice, as far as prices go: lower bounds prove no more than what they
 * bound. What is not proven says why.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/bind/traffic.h"

/* Fills the answer's is_proven and gap, and says in its reasons what they do not say: why there is
 * no proof where there is no gap either. ours: what was chosen, with a price; is_as_searched: with
 * the memory that it was looked for with. */
void plan_bind_proof(const struct bind_traffic *traffic, const struct graph *graph,
                     const struct bind_priced *ours, bool is_as_searched,
                     struct bind_answer *answer);
