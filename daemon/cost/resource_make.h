/**
 * Makes a structure (cost/resource_structure.h) of a graph and what was measured on it.
 *
 * Pure; any thread.
 */
#pragma once
#include "cost/resource_structure.h"
#include "node/sets.h"
#include "node/values.h"

/* NULL when out of memory. sets NULL: none. Of a graph with more than RESOURCE_PLACES_MAX gpus,
 * NUMA nodes and nics nothing is looked for. */
struct resource_structure *resource_make(const struct graph *graph, const struct values *values,
                                         const struct sets *sets);
