/* Bind's answers for tasks without gpus, over a built node whose values a test adds before it asks.
 */
#pragma once
#include "node/allowed.h"
#include "node/locality.h"
#include "plan_nodes.h"

#include "node/warnings.h"
#include "plan/bind/bind.h"
#include "plan/bind/traffic_request.h"

#define GB  1e9
#define MIB (INT64_C(1) << 20)
#define GIB (INT64_C(1) << 30)

struct fixture {
    struct graph *graph;
    struct values *values;
    struct snapshot *snap; /* made at the first question */
    struct allowed allowed;
    struct traffic traffic;
    struct bind_answer answer; /* the last one */
};

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

static inline void end(struct fixture *f)
{
    plan_bind_done(&f->answer);
    plan_traffic_done(&f->traffic);
    allowed_done(&f->allowed);
    snapshot_unref(f->snap);
}

static inline bool says(const struct warnings *lines, const char *part)
{
    for (size_t i = 0; i < lines->count; i++)
        if (strstr(lines->line[i], part) != NULL)
            return true;
    return false;
}

static inline void assert_near(double value, double expected)
{
    assert_true(fabs(value - expected) <= 1e-9 * expected);
}
