/**
 * A time that no choice is below, found without looking at any: each flow alone where it is
 * fastest; what must go through a resource because too few slots are without it, or because all
 * slots lead through a few; who cannot be beside whom; the worst slot, where all are taken.
 */
#pragma once
#include "search/work.h"

/* Finds the result's bound_ns. False when out of memory. */
bool plan_search_bound(struct search_work *work);
