/**
 * The core allocator: whole cores for each task, never one core for two tasks.
 *
 * One objective, term by term: a task lies within one L3, else one NUMA node, else one package; its
 * cores are nearest to its GPUs; the memory and L3 with the most free cores come first. Families of
 * tasks that exchange bytes are placed as one.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/bind/cores.h"

struct core_request {
    size_t tasks;
    const place_id *gpus; /* gpus_per_task for each task */
    size_t gpus_per_task;
    int64_t cores_per_task; /* 0: as many as each task finds next to its GPUs, else an even share */
    const place_id *numa;   /* by task: of equally near cores, these first; NULL any */
    const struct allowed *allowed; /* without GPUs: cores next to allowed memory go first; NULL */
    const size_t *family;          /* by task: the lowest task of its family; NULL each alone */
};

struct core_allocation {
    struct cpuset *cpus; /* owned, by task; without GPUs and families in the order of cores */
    int64_t each;        /* cores a task */
    /* 0, or the larger default that would tear tasks over NUMA nodes */
    int64_t torn;
    bool *is_short; /* owned, by task: it finds no more cores next to its GPUs, others do */
};

/* Fails with NOT_ENOUGH cores or NO_MEMORY. Measured rates that decide are cited in evidence
 * (NULL: not). */
enum berth_code plan_bind_allocate(const struct snapshot *snap, const struct bind_cores *cores,
                                   const struct core_request *request, struct evidence *evidence,
                                   struct core_allocation *ret, struct berth_err *err);
void plan_bind_allocation_done(struct core_allocation *allocation);
