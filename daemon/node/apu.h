/**
 * Products whose processor and gpu have one memory.
 *
 * Pure; any thread.
 */
#pragma once
#include "node/graph.h"

/* Whether the gpu is of such a product. */
bool apu_is(const struct place *gpu);

/* A gpu of such a product that hangs on that NUMA node, whose memory then is its own; PLACE_NONE
 * there is none. */
place_id apu_at(const struct graph *graph, place_id numa);
