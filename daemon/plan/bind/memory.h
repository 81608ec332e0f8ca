/**
 * The memory of Bind: the NUMA node of a task's cores, or the nearest that has memory and is
 * allowed, or one that was measured to be nearer.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/bind/bind.h"
#include "plan/bind/cores.h"

/* The allowed memory nearest to a NUMA node, a gpu's own left aside; home NONE: any. NONE when
 * there is none. */
place_id plan_bind_memory_nearest(const struct snapshot *snap, const struct allowed *allowed,
                                  place_id home);

/* Task t's, by its cpus; wanted: of NUMA nodes with about as many of its cores, this one, NONE that
 * next to its gpus. Cites what its cores get from it. NO_MEMORY. */
enum berth_code plan_bind_memory(const struct snapshot *snap, const struct allowed *allowed,
                                 struct bind_cores *cores, size_t t, place_id wanted,
                                 struct bind_answer *answer, struct berth_err *err);
