/* Bind's answers for tasks without gpus, over a built node whose values a test adds before it asks.
 */
#pragma once
#include "unit/plan/bind/bind_answer.h"

#define GB  1e9
#define MIB (INT64_C(1) << 20)
#define GIB (INT64_C(1) << 30)

static inline struct fixture begin(int packages, int numas, int llcs, int cores)
{
    const struct shape shape = {packages, numas, llcs, cores, 1, 256 * GIB};
    struct fixture f = {.graph = nodes_cpu(&shape), .values = values_new()};
    assert_non_null(f.values);
    f.allowed.given = true;
    locality_cpus(f.graph, &f.allowed.cpus);
    return f;
}

/* cores: of a task; 0 an even share. */
static inline void ask_moved(struct fixture *f, int64_t cores, const struct traffic_request *moved)
{
    struct berth_err err = {0};
    if (f->snap == NULL)
        f->snap = nodes_snapshot(f->graph, f->values);
    plan_traffic_done(&f->traffic);
    plan_bind_done(&f->answer);
    assert_int_equal(plan_traffic(moved, &f->traffic, &err), BERTH_OK);
    struct bind_request request = {.tasks = moved->tasks,
                                   .cores_per_task = cores,
                                   .traffic = &f->traffic,
                                   .allowed = &f->allowed};
    assert_int_equal(plan_bind(f->snap, &request, &f->answer, &err), BERTH_OK);
}
