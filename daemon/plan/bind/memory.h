/**
 * The memory of Bind: the NUMA node of a task's cores, or the nearest that has memory and is
 * allowed, or one that was measured to be nearer.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/bind/bind.h"
#include "plan/bind/cores.h"

/* Returns the allowed memory nearest to a NUMA node, leaving aside the GPUs' own; home NONE: any.
 * NONE when there is none. */
place_id plan_bind_memory_nearest(const struct snapshot *snap, const struct allowed *allowed,
                                  place_id home);

struct memory_request {
    size_t tasks;
    const struct cpuset *cpus; /* by task */
    const place_id *gpus;      /* gpus_per_task for each task */
    size_t gpus_per_task;
    const place_id *wanted; /* by task: first of NUMA nodes with about as many cores; NULL any */
};

/* Chooses each task's memory (NONE: none is allowed); ret_home: by task, the NUMA node of its
 * cores (NONE unknown). Cites what its cores get from that memory. NO_MEMORY. */
enum berth_code plan_bind_memory(const struct snapshot *snap, const struct allowed *allowed,
                                 const struct bind_cores *cores,
                                 const struct memory_request *request, struct evidence *evidence,
                                 place_id *ret_memory, place_id *ret_home, struct berth_err *err);
