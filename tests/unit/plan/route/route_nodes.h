/* A node of eight gpus with measurements set by a test, which then asks for routes. */
#pragma once
#include "node/allowed.h"
#include "unit/plan/node_folder.h"

#include "node/reasons.h"
#include "node/transfer.h"
#include "plan/route/route.h"

#define GB  1e9
#define MIB (INT64_C(1) << 20)

struct fixture {
    struct graph *graph;
    struct values *values;
    struct sets *sets; /* NULL none */
    struct snapshot *snap;
    struct allowed allowed;
    struct route_answer answer;
    struct berth_err err;
};

static inline struct fixture begin(void)
{
    struct fixture f = {.graph = nodes_mi250x(), .values = values_new()};
    assert_non_null(f.values);
    f.allowed.given = true;
    return f;
}

/* A node folder, with its measurements. */
static inline struct fixture on(const char *folder)
{
    struct snapshot *snap = folder_snapshot(folder);
    return (struct fixture){
        .graph = (struct graph *)snap->graph, .snap = snap, .allowed.given = true};
}

static inline place_id gpu(const struct fixture *f, int n)
{
    return nodes_place(f->graph, PLACE_GPU, n);
}
static inline place_id numa(const struct fixture *f, int n)
{
    return nodes_place(f->graph, PLACE_NUMA, n);
}

static inline void rate(struct fixture *f, enum metric metric, place_id from, place_id to,
                        const char *axes, double gb_per_s)
{
    nodes_value(f->values, metric, VALUE_MEASURED, from, to, axes, gb_per_s * GB,
                gb_per_s * 0.98 * GB, gb_per_s * 1.02 * GB);
}

/* Links two gpus. */
static inline void join(struct fixture *f, int a, int b, double gb_per_s)
{
    struct link *link = graph_add_link(f->graph, gpu(f, a), gpu(f, b), LINK_XGMI);
    assert_non_null(link);
    link->nominal_bytes_per_s = gb_per_s * GB;
    link->state = LINK_UP;
}

static inline void starting(struct fixture *f, place_id from, place_id to, const char *axes,
                            double ns)
{
    nodes_value(f->values, METRIC_TRANSFER_OVERHEAD, VALUE_MEASURED, from, to, axes, ns, ns, ns);
}

static inline void overheads(struct fixture *f, place_id from, place_id to, enum metric metric,
                             double call_ns, double queue_ns)
{
    char axes[TRANSFER_AXES_MAX];
    transfer_overhead_axes(metric, "", TRANSFER_CALL, axes, sizeof axes);
    starting(f, from, to, axes, call_ns);
    transfer_overhead_axes(metric, "", TRANSFER_QUEUE, axes, sizeof axes);
    starting(f, from, to, axes, queue_ns);
}

/* Adds start-up times of pieces that wait for another stream's events, and of one more stream's
 * end. */
static inline void chains(struct fixture *f, place_id from, place_id to, enum metric metric,
                          double chain_ns, double launch_ns, double end_ns)
{
    const double ns[] = {
        [TRANSFER_CHAIN] = chain_ns, [TRANSFER_LAUNCH] = launch_ns, [TRANSFER_END] = end_ns};
    for (int clock = TRANSFER_CHAIN; clock <= TRANSFER_END; clock++) {
        if (ns[clock] == 0) /* not measured */
            continue;
        char axes[TRANSFER_AXES_MAX];
        transfer_overhead_axes(metric, "", (enum transfer_clock)clock, axes, sizeof axes);
        starting(f, from, to, axes, ns[clock]);
    }
}

/* Transfers that were measured concurrently, with the rate of each. Applies to the values added
 * until then. */
struct together {
    place_id from, to;
    double gb_per_s;
};

static inline void together(struct fixture *f, enum metric metric, const struct together *its,
                            size_t count)
{
    struct set_flow flow[8];
    assert_null(f->snap);
    f->sets = f->sets != NULL ? f->sets : sets_new();
    for (size_t i = 0; i < count; i++)
        flow[i] =
            (struct set_flow){its[i].from, its[i].to, (char *)"", its[i].gb_per_s * GB, NAN, NAN};
    assert_true(f->sets != NULL &&
                sets_add(f->sets, &(struct set){metric, VALUE_MEASURED, 0, flow, count}));
}

/* A run of the hops from gpu to gpu, each of which gets what it gets alone. */
static inline void in_run(struct fixture *f, enum metric metric, const int *gpus, size_t count)
{
    enum metric alone = METRIC_COUNT;
    struct together its[8];
    assert_true(transfer_alone_metric(metric, &alone));
    values_finish(f->values);
    for (size_t i = 0; i + 1 < count; i++) {
        place_id from = gpu(f, gpus[i]), to = gpu(f, gpus[i + 1]);
        const struct value *value = values_find(f->values, alone, from, to, "");
        assert_non_null(value);
        its[i] = (struct together){from, to, value->value / GB};
    }
    together(f, metric, its, count - 1);
}

/* How many of these have that code. */
static inline size_t told(const struct reasons *reasons, enum reason_code code)
{
    size_t count = 0;
    for (size_t i = 0; i < reasons->count; i++)
        count += reasons->item[i].code == code;
    return count;
}

/* Asks for a route; later values do not count. */
static inline enum berth_code ask(struct fixture *f, struct route_request request)
{
    if (f->snap == NULL)
        f->snap = nodes_snapshot_of(f->graph, f->values, f->sets);
    plan_route_done(&f->answer);
    f->err = (struct berth_err){0};
    request.allowed = &f->allowed;
    return plan_route(f->snap, &request, &f->answer, &f->err);
}

static inline struct route_request of(place_id from, place_id to, int64_t bytes)
{
    return (struct route_request){.from = from, .to = to, .bytes = bytes};
}

static inline void end(struct fixture *f)
{
    plan_route_done(&f->answer);
    allowed_done(&f->allowed);
    snapshot_unref(f->snap);
}
