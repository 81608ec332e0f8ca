/**
 * What is published as a bound of what accesses to a memory get.
 *
 * Pure; any thread.
 */
#pragma once
#include "cost/move.h"
#include "node/snapshot.h"

/* More than this the kernels of a gpu, or the cores of a NUMA node, do not read (how is "read") or
 * write ("write") in that memory (memory_bandwidth_bound); of the snapshot. NULL: nobody states it.
 */
const struct value *published_bound_access(const struct snapshot *snap, place_id by,
                                           place_id memory, const char *how);

/* Where only links tell of a kernel's transfer, lowers its rate to the bound of its accesses, which
 * is move->most then. */
void published_bound_apply(const struct snapshot *snap, struct move *move);

/* What one gpu's kernel gets of another's memory where it reads and writes there at the same time
 * (memory_bandwidth, operation=copy), both directions together; of the snapshot. Kernels that copy
 * both ways at once get no more. Of a pair that links of the same kind and rate join it stands for
 * this one. NULL: not published, or no transfer between gpus by kernel. */
const struct value *published_bound_together(const struct snapshot *snap, const struct move *move);
