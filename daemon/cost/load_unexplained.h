/**
 * Sets that what is known to be shared does not reproduce, and that a step has to do with: what
 * such a step takes is not measured, and nothing is proven of it.
 *
 * Pure; any thread.
 */
#pragma once
#include "cost/load_table.h"

#define LOAD_NO_SET SIZE_MAX

/* The first such set of the snapshot, from that index on, of which the step has all transfers, or
 * several that were not measured by themselves; LOAD_NO_SET: none. uneven: of those where all get
 * together what is expected, and some less and others more, which prices know of; else of those
 * where they do not. Where transfers get in the step what they were measured to get together it is
 * none. scratch holds the step, which has just been run. */
size_t plan_load_unexplained(const struct load_table *table, const struct load_flow *flows,
                             size_t count, const struct load_scratch *scratch, bool uneven,
                             size_t first);
