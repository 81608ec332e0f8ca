/**
 * Hives: gpus that links between gpus, or switches of such links, join. Gpus of different hives
 * reach each other through the host alone.
 *
 * Pure; any thread.
 */
#pragma once
#include "node/graph.h"

/* By place: the lowest gpu of its hive; PLACE_NONE for what is no gpu. The caller frees it. NULL
 * when out of memory. */
place_id *resource_hive_find(const struct graph *graph);
