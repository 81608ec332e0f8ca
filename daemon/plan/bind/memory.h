/**
 * The memory of Bind: the NUMA node of a task's cores, or the nearest that has memory and is
 * allowed, or one that was measured to be nearer.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/bind/bind.h"

/* Returns the allowed memory nearest to a NUMA node, leaving aside the GPUs' own; home NONE: any.
 * NONE when there is none. */
place_id plan_bind_memory_nearest(const struct snapshot *snap, const struct allowed *allowed,
                                  place_id home);

/* Chooses the memory of cpus at home (NONE: none is allowed), and cites what they get from it.
 * NO_MEMORY. */
enum berth_code plan_bind_memory(const struct snapshot *snap, const struct allowed *allowed,
                                 const struct cpuset *cpus, place_id home,
                                 struct evidence *evidence, place_id *ret, struct berth_err *err);
