/* Built nodes for the tests of Allocate: of cores only, and of two processors with a gpu each. */
#pragma once
#include "node/allowed.h"
#include "node/locality.h"
#include "unit/node/built_nodes.h"

#include "plan/alloc/alloc.h"

#define GB  1e9
#define GIB (INT64_C(1) << 30)

/* Two processors with a gpu each, in the structure of three kinds of machines. */
enum machine { DISCRETE, SUPERCHIP, ONE_MEMORY };

struct fixture {
    struct graph *graph;
    struct values *values;
    struct snapshot *snap;
    struct allowed allowed;
    struct alloc_answer answer;
    struct berth_err err;
    size_t uses;                      /* of the buffer, in the answer */
    place_id numa[2], gpu[2], hbm[2]; /* hbm: a gpu's memory as a NUMA node, of superchips */
};

static inline void measured(struct fixture *f, enum metric metric, place_id from, place_id to,
                            const char *axes, double value)
{
    nodes_value(f->values, metric, VALUE_MEASURED, from, to, axes, value, value * 0.99,
                value * 1.01);
}

static inline struct fixture begin_cores(const struct shape *shape)
{
    struct fixture f = {.graph = nodes_cpu(shape), .values = values_new()};
    assert_non_null(f.values);
    f.allowed.given = true;
    return f;
}

static inline struct fixture begin(enum machine machine)
{
    struct fixture f = begin_cores(&(struct shape){2, 1, 1, 4, 1, 256 * GIB});
    for (int i = 0; i < 2; i++) {
        f.numa[i] = nodes_place(f.graph, PLACE_NUMA, i);
        struct cpuset cpus = *graph_place(f.graph, f.numa[i])->cpus;
        f.gpu[i] = nodes_add(f.graph, PLACE_GPU, i, f.numa[i], f.numa[i], &cpus);
        assert_true(place_set_detail(&f.graph->places[f.gpu[i]], "vendor",
                                     machine == ONE_MEMORY ? "amd" : "nvidia"));
        assert_true(place_set_text(&f.graph->places[f.gpu[i]].model,
                                   machine == ONE_MEMORY ? "AMD Instinct MI300A" : "NVIDIA"));
        if (machine != ONE_MEMORY)
            f.graph->places[f.gpu[i]].capacity_bytes = 96 * GIB;
    }
    for (int i = 0; machine == SUPERCHIP && i < 2; i++) {
        f.hbm[i] = nodes_add(f.graph, PLACE_NUMA, 4 + 4 * i,
                             graph_place(f.graph, f.numa[i])->parent, PLACE_NONE, NULL);
        f.graph->places[f.hbm[i]].capacity_bytes = 96 * GIB;
        assert_non_null(graph_add_link(f.graph, f.hbm[i], f.gpu[i], LINK_MEMBUS));
        assert_non_null(graph_add_link(f.graph, f.numa[i], f.gpu[i], LINK_C2C));
    }
    return f;
}

/* Adds the rates of each gpu with its own memory, the other's, and both hosts'. */
static inline void all_known(struct fixture *f, double near_gb, double far_gb)
{
    for (int i = 0; i < 2; i++) {
        measured(f, METRIC_MEMORY_BANDWIDTH, f->gpu[i], f->gpu[i], "", 4000 * GB);
        measured(f, METRIC_MEMORY_BANDWIDTH, f->gpu[i], f->gpu[i], "operation=write", 3000 * GB);
        measured(f, METRIC_GPU_GPU_KERNEL, f->gpu[i], f->gpu[!i], "operation=read", 300 * GB);
        measured(f, METRIC_GPU_GPU_KERNEL, f->gpu[i], f->gpu[!i], "operation=write", 250 * GB);
        measured(f, METRIC_MEMORY_LATENCY, f->gpu[i], f->gpu[i], "", 600);
        measured(f, METRIC_MEMORY_LATENCY, f->gpu[i], f->gpu[!i], "", 60000);
        for (int n = 0; n < 2; n++) {
            double rate = (n == i ? near_gb : far_gb) * GB;
            measured(f, METRIC_HOST_GPU_KERNEL, f->numa[n], f->gpu[i], "operation=read", rate);
            measured(f, METRIC_HOST_GPU_KERNEL, f->gpu[i], f->numa[n], "operation=write", rate / 2);
            measured(f, METRIC_MEMORY_BANDWIDTH, f->numa[i], f->numa[n], "",
                     (n == i ? 200 : 80) * GB);
            measured(f, METRIC_MEMORY_BANDWIDTH, f->numa[i], f->numa[n], "operation=write",
                     (n == i ? 100 : 40) * GB);
        }
    }
}

/* Asks for the allowed part of f. */
static inline enum berth_code ask_for(struct fixture *f, struct alloc_request request)
{
    if (f->snap == NULL)
        f->snap = nodes_snapshot(f->graph, f->values);
    plan_alloc_done(&f->answer);
    f->err = (struct berth_err){0};
    request.allowed = &f->allowed;
    f->uses = request.access_count > 0 ? request.access_count : 1;
    return plan_alloc(f->snap, &request, &f->answer, &f->err);
}

/* Asks for those cpus. */
static inline enum berth_code ask_from(struct fixture *f, const char *cpus,
                                       struct alloc_request request)
{
    assert_int_equal(cpuset_parse(cpus, &f->allowed.cpus, NULL), BERTH_OK);
    return ask_for(f, request);
}

static inline enum berth_code ask(struct fixture *f, unsigned kinds, size_t count,
                                  const struct alloc_access *access)
{
    locality_cpus(f->graph, &f->allowed.cpus);
    return ask_for(f, (struct alloc_request){
                          .bytes = GIB, .access = access, .access_count = count, .kinds = kinds});
}

static inline enum berth_code ask_reads(struct fixture *f, unsigned kinds, place_id by,
                                        int64_t reads_bytes)
{
    return ask(f, kinds, 1, &(struct alloc_access){.by = by, .reads_bytes = reads_bytes});
}

static inline void end(struct fixture *f)
{
    plan_alloc_done(&f->answer);
    allowed_done(&f->allowed);
    snapshot_unref(f->snap);
}

static inline const struct alloc_option *option(const struct fixture *f, enum memkind kind,
                                                place_id memory)
{
    for (size_t i = 0; i < f->answer.count; i++)
        if (f->answer.option[i].place.kind == kind && f->answer.option[i].place.memory == memory)
            return &f->answer.option[i];
    return NULL;
}

static inline double time_of(const struct fixture *f, enum memkind kind, place_id memory)
{
    const struct alloc_option *found = option(f, kind, memory);
    if (found == NULL)
        fail_msg("no %s memory on %s", memkind_names[kind], graph_place(f->graph, memory)->name);
    return found->predicted.time_ns;
}

/* True when a warning of that code is about subject (NULL: any). */
static inline bool warned(const struct fixture *f, enum reason_code code, const char *subject)
{
    for (size_t i = 0; i < f->answer.warnings.count; i++) {
        const struct reason *reason = &f->answer.warnings.item[i];
        for (size_t s = 0; reason->code == code && s < reason->subject_count; s++)
            if (subject == NULL || strcmp(reason->subject[s], subject) == 0)
                return true;
    }
    return false;
}

/* The first reason of that code; NULL none. */
static inline const struct reason *reason_of(const struct fixture *f, enum reason_code code)
{
    for (size_t i = 0; i < f->answer.reasons.count; i++)
        if (f->answer.reasons.item[i].code == code)
            return &f->answer.reasons.item[i];
    return NULL;
}

static inline bool doubts(const struct fixture *f, const struct alloc_option *option,
                          enum reason_code doubt)
{
    bool found = false;
    for (size_t i = 0; i < f->uses + ALLOC_MORE_PARTS; i++)
        found |= option->part[i].why == doubt;
    return found;
}

static inline bool is_at_least(const struct alloc_option *option)
{
    return option->predicted.source >= SOURCE_NOMINAL &&
           option->predicted.low_ns == option->predicted.time_ns &&
           isnan(option->predicted.high_ns);
}

/* True when why has that value as nominal: the rate of a link. */
static inline bool cites_nominal(const struct fixture *f, const struct alloc_option *option,
                                 double bytes_per_s)
{
    for (size_t i = option->why; i < option->why + option->why_count; i++) {
        const struct value *value = f->answer.evidence.item[i];
        if (value != NULL && value->source == VALUE_NOMINAL && value->value == bytes_per_s)
            return true;
    }
    return false;
}
