/**
 * What tasks without GPUs take to stream their memory: the cores of all tasks whose memory is one
 * NUMA node stream it together, at the rate of so many cores (cost/memtime.h). Several NUMA nodes
 * at once were not measured: each counts as alone, without interval.
 *
 * Pure; any thread.
 */
#pragma once
#include "cost/estimate.h"
#include "plan/bind/bind.h"

struct cpu_streams {
    struct estimate time; /* 0 nothing is streamed; NAN unknown */
    place_id memory;      /* of those that end last; PLACE_NONE none, or unknown */
    size_t users, memories;
    double bytes; /* of its users together */
};

/* Prices the flows with the host of tasks that have their cpus and memory: the memory whose tasks
 * end last decides, an unknown one before all. NO_MEMORY. */
enum berth_code cpu_streams_time(const struct snapshot *snap, const struct traffic *traffic,
                                 const struct bind_task *task, struct evidence *evidence,
                                 struct cpu_streams *ret, struct berth_err *err);
