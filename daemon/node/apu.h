/**
 * Products whose processor and gpu have one memory.
 *
 * Pure; any thread.
 */
#pragma once
#include "node/graph.h"

/* True when the gpu is of such a product. */
bool apu_is(const struct place *gpu);

/* Returns a gpu of such a product that is attached to that NUMA node; PLACE_NONE if there is none.
 * The node's memory is then the gpu's own. */
place_id apu_at(const struct graph *graph, place_id numa);
