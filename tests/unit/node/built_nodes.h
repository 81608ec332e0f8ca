/* Nodes and values built in memory for the tests of planning. Not recorded machines: shapes like
 * theirs. */
#pragma once
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cost/derive.h"
#include "node/graph.h"
#include "node/reasons.h"
#include "node/snapshot.h"
#include "node/values.h"

static inline void assert_within(double value, double expected, double share)
{
    if (!(fabs(value - expected) <= share * fabs(expected)))
        fail_msg("%.10g is not %.10g", value, expected);
}

static inline void assert_near(double value, double expected)
{
    assert_within(value, expected, 1e-9);
}

/* Number of lines that contain part. */
static inline size_t lines_with(const struct reasons *lines, const char *part)
{
    size_t count = 0;
    for (size_t i = 0; i < lines->count; i++)
        count += strstr(lines->item[i].text, part) != NULL;
    return count;
}

/* Finds the first reason with a code; NULL: there is none. */
static inline const struct reason *reason_with(const struct reasons *reasons, enum reason_code code)
{
    for (size_t i = 0; i < reasons->count; i++)
        if (reasons->item[i].code == code)
            return &reasons->item[i];
    return NULL;
}

/* A regular cpu side: threads of a core are numbered a whole node of cores apart, as Linux does. */
struct shape {
    /* numas in a package, llcs in a numa, cores in an llc */
    int packages, numas, llcs, cores, threads;
    int64_t numa_bytes;
};

static inline place_id nodes_add(struct graph *graph, enum place_kind kind, int number,
                                 place_id parent, place_id numa, const struct cpuset *cpus)
{
    place_id id = graph_add_place(graph, kind, number);
    assert_int_not_equal(id, PLACE_NONE);
    graph->places[id].parent = parent;
    graph->places[id].numa = numa;
    graph->places[id].capacity_bytes = -1;
    if (cpus != NULL)
        assert_true(place_set_cpus(&graph->places[id], cpus));
    return id;
}

static inline void nodes_core(struct graph *graph, const struct shape *shape, int number,
                              place_id llc, place_id numa, place_id package)
{
    int total = shape->packages * shape->numas * shape->llcs * shape->cores;
    struct cpuset cpus = {0};
    for (int t = 0; t < shape->threads; t++)
        cpuset_add(&cpus, (unsigned)(number + t * total));
    place_id core = nodes_add(graph, PLACE_CORE, number, llc, numa, &cpus);
    for (int t = 0; t < shape->threads; t++) {
        struct cpuset pu = {0};
        cpuset_add(&pu, (unsigned)(number + t * total));
        nodes_add(graph, PLACE_PU, number + t * total, core, numa, &pu);
    }
    for (place_id up = llc; up != PLACE_NONE; up = up == llc       ? numa
                                                   : up == numa    ? package
                                                   : up == package ? 0
                                                                   : PLACE_NONE) {
        struct cpuset all = cpus;
        if (graph->places[up].cpus != NULL)
            cpuset_or(&all, graph->places[up].cpus);
        assert_true(place_set_cpus(&graph->places[up], &all));
    }
}

/* Unfinished, so that gpus and nics can follow. */
static inline struct graph *nodes_cpu(const struct shape *shape)
{
    struct graph *graph = graph_new();
    assert_non_null(graph);
    graph->name = strdup("built");
    graph->origin = ORIGIN_RECONSTRUCTED;
    snprintf(graph->fingerprint, sizeof graph->fingerprint, "0123456789abcdef0123456789abcdef");
    nodes_add(graph, PLACE_MACHINE, 0, PLACE_NONE, PLACE_NONE, NULL);
    int numas = 0, llcs = 0, cores = 0;
    for (int p = 0; p < shape->packages; p++) {
        place_id package = nodes_add(graph, PLACE_PACKAGE, p, 0, PLACE_NONE, NULL);
        for (int n = 0; n < shape->numas; n++) {
            place_id numa = nodes_add(graph, PLACE_NUMA, numas++, package, PLACE_NONE, NULL);
            graph->places[numa].capacity_bytes = shape->numa_bytes;
            for (int l = 0; l < shape->llcs; l++) {
                place_id llc = nodes_add(graph, PLACE_LLC, llcs++, package, numa, NULL);
                for (int c = 0; c < shape->cores; c++)
                    nodes_core(graph, shape, cores++, llc, numa, package);
            }
        }
    }
    return graph;
}

static inline place_id nodes_place(const struct graph *graph, enum place_kind kind, int number)
{
    for (place_id p = graph_next(graph, kind, 0); p != PLACE_NONE;
         p = graph_next(graph, kind, p + 1))
        if (graph->places[p].number == number)
            return p;
    fail_msg("the test's node has no %s%d", place_kind_name(kind), number);
    return PLACE_NONE;
}

/* Links two places. bytes_per_s: of each direction, as stated. */
static inline struct link *nodes_join(struct graph *graph, place_id a, place_id b,
                                      enum link_kind kind, double bytes_per_s)
{
    struct link *link = graph_add_link(graph, a, b, kind);
    assert_non_null(link);
    link->nominal_bytes_per_s = bytes_per_s;
    link->state = LINK_UP;
    return link;
}

static inline void nodes_finish(struct graph *graph)
{
    struct berth_err err = {0};
    if (graph_finish(graph, &err) != BERTH_OK)
        fail_msg("%s", err.detail);
}

/* A node as Frontier's and LUMI's are: 4 NUMA, 8 CCXs, 4 modules of 2 GCDs, each GCD on one CCX. */
static inline struct graph *nodes_mi250x(void)
{
    static const int llc_of_gpu[] = {6, 7, 2, 3, 0, 1, 4, 5};
    static const char *const pci[] = {"0000:c1:00.0", "0000:c6:00.0", "0000:c9:00.0",
                                      "0000:ce:00.0", "0000:d1:00.0", "0000:d6:00.0",
                                      "0000:d9:00.0", "0000:de:00.0"};
    struct graph *graph = nodes_cpu(&(struct shape){1, 4, 2, 8, 2, INT64_C(128) << 30});
    for (int m = 0; m < 4; m++) {
        place_id numa = graph_place(graph, nodes_place(graph, PLACE_LLC, llc_of_gpu[2 * m]))->numa;
        struct cpuset cpus = *graph_place(graph, numa)->cpus;
        nodes_add(graph, PLACE_MODULE, m, numa, numa, &cpus);
        struct cpuset llc =
            *graph_place(graph, nodes_place(graph, PLACE_LLC, llc_of_gpu[2 * m]))->cpus;
        place_id nic = nodes_add(graph, PLACE_NIC, m, numa, numa, &llc);
        assert_true(place_set_text(&graph->places[nic].model, "Slingshot"));
    }
    for (int g = 0; g < 8; g++) {
        const struct place *llc = graph_place(graph, nodes_place(graph, PLACE_LLC, llc_of_gpu[g]));
        struct cpuset cpus = *llc->cpus;
        place_id gpu = nodes_add(graph, PLACE_GPU, g, nodes_place(graph, PLACE_MODULE, g / 2),
                                 llc->numa, &cpus);
        char uuid[32];
        snprintf(uuid, sizeof uuid, "GPU-%016x", 0x1a2b3c00 + g);
        graph->places[gpu].capacity_bytes = INT64_C(64) << 30;
        graph->places[gpu].minor = 128 + g;
        assert_true(place_set_text(&graph->places[gpu].pci, pci[g]));
        assert_true(place_set_text(&graph->places[gpu].uuid, uuid));
        assert_true(place_set_text(&graph->places[gpu].model, "AMD Instinct MI250X"));
    }
    return graph;
}

static inline void nodes_value(struct values *values, enum metric metric, enum value_source source,
                               place_id from, place_id to, const char *axes, double value,
                               double low, double high)
{
    struct value v = {.metric = metric,
                      .source = source,
                      .from = from,
                      .to = to,
                      .n = source == VALUE_MEASURED ? 9 : 0,
                      .value = value,
                      .low = low,
                      .high = high,
                      .measured_at_s = source == VALUE_MEASURED ? 1790000000 : 0};
    assert_true(values_add(values, &v, axes, NULL));
}

/* Takes all three, sets NULL: none. What planners rest on is derived. */
static inline struct snapshot *nodes_snapshot_of(struct graph *graph, struct values *values,
                                                 struct sets *sets)
{
    nodes_finish(graph);
    if (values == NULL)
        values = values_new();
    assert_non_null(values);
    values_finish(values);
    struct snapshot *snap = snapshot_new(graph, values, NULL, 0, 0, 1);
    assert_non_null(snap);
    graph_unref(graph);
    snap->sets = sets;
    assert_true(derive_costs(snap));
    return snap;
}

static inline struct snapshot *nodes_snapshot(struct graph *graph, struct values *values)
{
    return nodes_snapshot_of(graph, values, NULL);
}
