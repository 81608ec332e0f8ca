/**
 * Derives the planners' data from a snapshot: curves, then shared limits, then the matrix of
 * transfers. Each part uses the one before it.
 */
#pragma once
#include "node/snapshot.h"

/* Call once, when graph, values and sets are complete, before the snapshot is shared. The snapshot
 * frees what is derived. False when out of memory: nothing is derived then. */
bool derive_costs(struct snapshot *snapshot);
