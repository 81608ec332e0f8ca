/**
 * What was seen to go through the parts of a structure, alone or together: each carries at least so
 * much, and what is filled by one transfer just that.
 */
#pragma once
#include "cost/resource_structure.h"

/* Raises the capacities, and fills in how many transfers were measured together. sets NULL: none.
 * False when out of memory. */
bool resource_seen(struct resource_structure *structure, const struct graph *graph,
                   const struct values *values, const struct sets *sets);
