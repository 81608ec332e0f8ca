/**
 * Reasons and warnings about tasks' cores and memory.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/bind/bind.h"
#include "plan/bind/core_allocator.h"

struct host_facts {
    const struct snapshot *snap;
    const struct bind_cores *cores;
    const struct core_request *request;
    bool by_locality; /* nothing predicts a time: locality chose the GPUs */
};

/* Explains the default number of cores a task. */
void plan_bind_explain_default(const struct core_allocation *allocation,
                               struct bind_answer *answer);

/* Explains where the cores of the answer's tasks are: cores away from GPUs, and in several NUMA
 * nodes or L3s. NO_MEMORY. */
enum berth_code plan_bind_explain_cores(const struct host_facts *facts, struct bind_answer *answer,
                                        struct berth_err *err);

/* Explains the memory of the answer's tasks. home: by task, the NUMA node of its cores. */
void plan_bind_explain_memory(const place_id *home, struct bind_answer *answer);

/* "task 3" */
const char *plan_bind_task_name(size_t task, char name[32]);
