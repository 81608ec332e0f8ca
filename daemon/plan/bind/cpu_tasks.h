/**
 * Tasks without GPUs: the cores for which an iteration takes least time.
 *
 * Options: cores spread evenly, families of tasks that exchange bytes together, the launcher's
 * order; each also with the fewer cores a task with which a family shares an L3, where the request
 * leaves their number open. An option's time is that of its streams and then its exchange.
 *
 * Streams: the cores of all tasks whose memory is one NUMA node stream it together, at the rate of
 * so many cores (cost/memcores.h). Several NUMA nodes at once were not measured: each counts as
 * alone, without interval. Exchange: plan/bind/cpu_exchange.h.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/bind/bind.h"
#include "plan/bind/core_allocator.h"

struct cpu_tasks {
    const struct snapshot *snap;
    const struct traffic *traffic; /* NULL or empty: nothing says */
    const struct allowed *allowed;
    const struct bind_cores *cores;
    const struct core_request *request;
};

/* Replaces the cores of an allocation, which spreads tasks evenly, by those of the best option.
 * Fills the answer's predictions, and says what decided. NO_MEMORY. */
enum berth_code plan_bind_cpu_tasks(const struct cpu_tasks *tasks,
                                    struct core_allocation *allocation, struct bind_answer *answer,
                                    struct berth_err *err);
