/**
 * The core allocator: whole cores for each task, never one core for two tasks, and the memory of
 * these cores.
 *
 * A task lies within one L3, else one NUMA node, else one package. Its cost at a group of cores is
 * compared term by term: how far that is from its GPUs, whether it has room for all its cores, how
 * far it is from the cores that the task has already, and how many cores others find around it.
 * Families of tasks that exchange bytes are placed as one.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/bind/bind.h"
#include "plan/bind/cores.h"

struct core_request {
    size_t tasks, gpus_per_task;
    int64_t cores_per_task; /* 0: as many as each task finds next to its GPUs, else an even share */
    const place_id *numa;   /* by task: of equally near cores, these first; NULL any */
    const struct allowed *allowed;
    const size_t *family; /* by task: the lowest task of its family; NULL each alone */
    bool in_order;        /* the first cores to the first task, as a launcher gives them out */
};

/* Fills cpus and memory of the answer's tasks, which have their GPUs, and cores_per_task; without
 * GPUs and families in the order of cores. Adds evidence, reasons and warnings. There are enough
 * cores. NO_MEMORY. */
enum berth_code plan_bind_allocate(const struct snapshot *snap, const struct bind_cores *cores,
                                   const struct core_request *request, struct bind_answer *answer,
                                   struct berth_err *err);

/* Finds the memory, by task, and the number of cores that tasks with these GPUs get. NO_MEMORY. */
enum berth_code plan_bind_allocate_memory(const struct snapshot *snap,
                                          const struct bind_cores *cores,
                                          const struct core_request *request, const place_id *gpus,
                                          place_id *ret_memory, int64_t *ret_cores,
                                          struct berth_err *err);

/* "task 3" */
const char *plan_bind_task_name(size_t task, char name[32]);
