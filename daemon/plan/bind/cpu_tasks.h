/**
 * Tasks without GPUs: the cores for which an iteration takes least time.
 *
 * Options: cores spread evenly, families of tasks that exchange bytes together, the launcher's
 * order; each also with the fewer cores a task with which a family shares an L3, where the request
 * leaves their number open. An option's time is that of its streams (plan/bind/cpu_streams.h) and
 * then its exchange (plan/bind/cpu_exchange.h).
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/bind/bind.h"
#include "plan/bind/core_allocator.h"

/* Fills the cpus and memory of the answer's tasks, its cores_per_task, and its predictions, and
 * says what decided. request is that of the tasks. NOT_ENOUGH cores, NO_MEMORY. */
enum berth_code plan_bind_cpu_tasks(const struct snapshot *snap, const struct bind_cores *cores,
                                    const struct core_request *request,
                                    const struct traffic *traffic, struct bind_answer *answer,
                                    struct berth_err *err);
