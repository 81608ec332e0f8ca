/**
 * Derives the planners' data from a snapshot: curves, then shared limits, then the matrix of
 * transfers, then the limits that each uses. Each part uses those before it.
 */
#pragma once
#include "node/snapshot.h"

/* Call once, when graph, values and sets are complete, before the snapshot is shared. The snapshot
 * frees what is derived. False when out of memory: nothing is derived then. */
bool derive_costs(struct snapshot *snapshot);
