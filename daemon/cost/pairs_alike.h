/**
 * Which pairs nothing known tells apart: alike and alike_both of each. A part of cost/pairs.c.
 */
#pragma once
#include "cost/pairs.h"

/* False when out of memory. */
bool plan_pairs_alike(const struct snapshot *snap, struct pair *pair, size_t count);
