/* A node, its snapshot, and the last answer of Bind over it. */
#pragma once
#include "node/allowed.h"
#include "node/locality.h"
#include "unit/node/built_nodes.h"

#include "node/reasons.h"
#include "plan/bind/bind.h"
#include "plan/bind/traffic_request.h"

struct fixture {
    struct graph *graph;   /* borrowed from snap once that exists */
    struct values *values; /* until snap exists */
    struct snapshot *snap;
    struct allowed allowed;
    struct traffic traffic;
    struct bind_answer answer;
    struct berth_err err;
};

/* Takes the snapshot. All cpus are allowed. */
static inline struct fixture fixture_of(struct snapshot *snap)
{
    struct fixture f = {
        .graph = (struct graph *)snap->graph, .snap = snap, .allowed = {.given = true}};
    locality_cpus(snap->graph, &f.allowed.cpus);
    return f;
}

/* Answer over a node without measurements: locality decides. cpus NULL: all of them are allowed. */
static inline struct fixture answer_over(struct graph *graph, const char *cpus,
                                         struct bind_request request)
{
    struct fixture f = fixture_of(nodes_snapshot(graph, NULL));
    if (cpus != NULL)
        assert_int_equal(cpuset_parse(cpus, &f.allowed.cpus, &f.err), BERTH_OK);
    request.allowed = &f.allowed;
    assert_int_equal(plan_bind(f.snap, &request, &f.answer, &f.err), BERTH_OK);
    return f;
}

/* Counts the subjects of the first reason with a code. */
static inline size_t subjects_of(const struct reasons *reasons, enum reason_code code)
{
    const struct reason *reason = reason_with(reasons, code);
    return reason != NULL ? reason->subject_count + reason->more : 0;
}

static inline void end(struct fixture *f)
{
    plan_bind_done(&f->answer);
    plan_traffic_done(&f->traffic);
    allowed_done(&f->allowed);
    snapshot_unref(f->snap);
}
