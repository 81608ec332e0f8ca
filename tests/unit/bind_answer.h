/* A Bind answer over a built node, as tests of what is said of it begin: nothing was measured, so
 * that locality decides. */
#pragma once
#include "node/allowed.h"
#include "node/locality.h"
#include "plan_nodes.h"

#include "plan/bind/bind.h"

struct fixture {
    struct snapshot *snap;
    struct allowed allowed;
    struct bind_answer answer;
};

/* cpus NULL: all of them are allowed. */
static inline struct fixture begin(struct graph *graph, const char *cpus,
                                   struct bind_request request)
{
    struct fixture f = {.snap = nodes_snapshot(graph, NULL)};
    struct berth_err err = {0};
    f.allowed.given = true;
    locality_cpus(f.snap->graph, &f.allowed.cpus);
    if (cpus != NULL)
        assert_int_equal(cpuset_parse(cpus, &f.allowed.cpus, &err), BERTH_OK);
    request.allowed = &f.allowed;
    assert_int_equal(plan_bind(f.snap, &request, &f.answer, &err), BERTH_OK);
    return f;
}

static inline void end(struct fixture *f)
{
    plan_bind_done(&f->answer);
    allowed_done(&f->allowed);
    snapshot_unref(f->snap);
}
