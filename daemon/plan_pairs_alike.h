/**
 * Which pairs nothing known tells apart: alike and alike_both of each. A part of plan_pairs.c.
 */
#pragma once
#include "plan_pairs.h"

/* False when out of memory. */
bool plan_pairs_alike(const struct snapshot *snap, struct pair *pair, size_t count);
