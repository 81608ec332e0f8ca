/**
 * What is published of kernels' accesses to another gpu's memory as a bound of what transfers get.
 *
 * Pure; any thread.
 */
#pragma once
#include "cost/move.h"
#include "node/snapshot.h"

/* What one gpu's kernel gets of another's memory where it reads and writes there at the same time
 * (memory_bandwidth, operation=copy), both directions together; of the snapshot. Kernels that copy
 * both ways at once get no more. Of a pair that links of the same kind and rate join it stands for
 * this one. NULL: not published, or no transfer between gpus by kernel. */
const struct value *published_bound_together(struct snapshot *snap, const struct move *move);
