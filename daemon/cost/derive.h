/**
 * What planners rest on, derived of a snapshot by its builder. The order is that in which one part
 * rests on another: curves, resources, pairs.
 */
#pragma once
#include "node/snapshot.h"

/* Call once, when graph, values and sets are complete, before the snapshot is shared. The snapshot
 * frees what is derived. False when out of memory: nothing is derived then. */
bool derive_costs(struct snapshot *snapshot);
