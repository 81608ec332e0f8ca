/**
 * Which tasks find cores next to their gpus: what memory tasks really have with these gpus, and how
 * many tasks each NUMA node has room for.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/bind/bind.h"
#include "plan/bind/cores.h"
#include "plan/bind/gpus.h"

/* Where tasks have their cores: a NUMA node, or its package where one task has more cores than the
 * node. A unit is the index of its first group of cores. */
struct bind_room {
    uint16_t *unit; /* owned; by gpu, as of struct search_problem */
    uint16_t *most; /* owned; by unit: tasks; NULL: not known, and none is refused */
};

/* For tasks that have so many cores each. numa: by gpu, whose cores a task on it has. NO_MEMORY. */
enum berth_code plan_bind_room_find(const struct bind_cores *cores, const place_id *numa,
                                    size_t gpus, int64_t cores_per_task, struct bind_room *ret,
                                    struct berth_err *err);
void plan_bind_room_done(struct bind_room *room);

/* With which gpus memory is asked for. */
struct bind_room_choice {
    const struct bind_gpus *gpus;
    const place_id *numa; /* by gpu */
    const uint16_t *slot; /* by berth */
    size_t tasks, each;
};

/* The memory that each task has by the core allocator, by task, and how many cores. As
 * plan_bind_allocate. */
enum berth_code plan_bind_room_memory(const struct snapshot *snap,
                                      const struct bind_request *request,
                                      const struct bind_cores *cores,
                                      const struct bind_room_choice *choice, place_id *ret_memory,
                                      int64_t *ret_cores, struct berth_err *err);
