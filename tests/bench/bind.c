/*
 * Processor time of Bind, the planner alone, for the traffic of a step: on nodes of 8, 16 and 64
 * GPUs built in memory, whose measurements differ a little from pair to pair, as real ones do.
 *
 * bind FOLDER...: and for eight tasks on node folders of at least 8 GPUs. Prints lines
 * "GPUS-NODE/REQUEST median_ms gap_percent" (0: proven) and "spread-GPUS-NODE/REQUEST
 * percent": how far the worst of ten orders of the same 64 GPUs is above the best of them.
 */
#include <libgen.h>
#include <math.h>

#include "bench_node.h"
#include "node/allowed.h"
#include "node/graph.h"
#include "node/locality.h"
#include "plan/bind/bind.h"
#include "unit/base/random.h"

#define GB         1e9
#define ROUNDS     9
#define FLOW_TASKS 8

struct node {
    struct graph *graph;
    place_id gpu[64], numa[32];
    size_t gpus, numas;
};

static void need(bool ok)
{
    if (!ok) {
        errno = ENOMEM;
        bench_die("a node");
    }
}

static place_id add(struct graph *graph, enum place_kind kind, size_t number, place_id parent,
                    place_id numa, size_t cpu, size_t cpus)
{
    place_id id = graph_add_place(graph, kind, (int32_t)number);
    need(id != PLACE_NONE);
    struct cpuset set = {0};
    for (size_t c = cpu; c < cpu + cpus; c++)
        cpuset_add(&set, (unsigned)c);
    graph->places[id].parent = parent;
    graph->places[id].numa = numa;
    graph->places[id].capacity_bytes =
        kind == PLACE_NUMA || kind == PLACE_GPU ? INT64_C(64) << 30 : -1;
    need(cpus == 0 || place_set_cpus(&graph->places[id], &set));
    return id;
}

/* Modules of two gpus, a NUMA node of four cores next to each. */
static struct node build(size_t gpus)
{
    struct node node = {.graph = graph_new(), .gpus = gpus, .numas = gpus / 2};
    need(node.graph != NULL);
    struct graph *graph = node.graph;
    place_id machine = add(graph, PLACE_MACHINE, 0, PLACE_NONE, PLACE_NONE, 0, 0);
    place_id package = add(graph, PLACE_PACKAGE, 0, machine, PLACE_NONE, 0, 2 * gpus);
    for (size_t n = 0; n < node.numas; n++) {
        place_id numa = node.numa[n] = add(graph, PLACE_NUMA, n, package, PLACE_NONE, 4 * n, 4);
        place_id llc = add(graph, PLACE_LLC, n, package, numa, 4 * n, 4);
        for (size_t c = 0; c < 4; c++)
            add(graph, PLACE_CORE, 4 * n + c, llc, numa, 4 * n + c, 1);
        place_id module = add(graph, PLACE_MODULE, n, numa, numa, 4 * n, 4);
        for (size_t g = 2 * n; g < 2 * n + 2; g++)
            node.gpu[g] = add(graph, PLACE_GPU, g, module, numa, 4 * n, 4);
    }
    struct berth_err err = {0};
    need(graph_finish(graph, &err) == BERTH_OK);
    return node;
}

static void rate(struct values *values, enum metric metric, place_id from, place_id to,
                 double gb_per_s, uint64_t *seed)
{
    double value = gb_per_s * GB * (1 + 0.004 * ((double)(random_next(seed) % 1000) / 1000 - 0.5));
    struct value v = {.metric = metric,
                      .source = VALUE_MEASURED,
                      .from = from,
                      .to = to,
                      .n = 9,
                      .value = value,
                      .low = value * 0.99,
                      .high = value * 1.01};
    need(values_add(values, &v, "", NULL));
}

static void run_together(struct sets *sets, place_id a, place_id b, place_id to, double each)
{
    struct set_flow flow[] = {{.from = a,
                               .to = to,
                               .axes = (char *)"",
                               .bytes_per_s = each * GB,
                               .low = each * 0.99 * GB,
                               .high = each * 1.01 * GB},
                              {.from = b,
                               .to = to,
                               .axes = (char *)"",
                               .bytes_per_s = each * GB,
                               .low = each * 0.99 * GB,
                               .high = each * 1.01 * GB}};
    need(sets_add(sets, &(struct set){.metric = METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT,
                                      .flow = flow,
                                      .flow_count = b == PLACE_NONE ? 1 : 2}));
}

/* Gpus of a module have 200 GB/s to each other, those of eight 100 or 50, others 25; 28 to a NUMA
 * node, which two of a module share. order: which gpu has which place in this. */
static struct snapshot *measure(const struct node *node, const size_t *order, uint64_t seed)
{
    struct values *values = values_new();
    struct sets *sets = sets_new();
    need(values != NULL && sets != NULL);
    for (size_t i = 0; i < node->gpus; i++) {
        size_t a = order[i];
        for (size_t j = 0; j < node->gpus; j++) {
            size_t b = order[j];
            double wide = a / 2 == b / 2 ? 200 : a / 8 == b / 8 ? (a + b) % 3 == 0 ? 100 : 50 : 25;
            if (a != b) {
                rate(values, METRIC_GPU_GPU_KERNEL, node->gpu[i], node->gpu[j], wide, &seed);
                rate(values, METRIC_GPU_GPU_COPY_ENGINE, node->gpu[i], node->gpu[j], fmin(wide, 50),
                     &seed);
            }
        }
        for (size_t n = 0; n < node->numas; n++) {
            rate(values, METRIC_HOST_GPU_COPY_ENGINE, node->gpu[i], node->numa[n],
                 i / 2 == n ? 28 : 20, &seed);
            rate(values, METRIC_HOST_GPU_COPY_ENGINE, node->numa[n], node->gpu[i],
                 i / 2 == n ? 28 : 20, &seed);
        }
        run_together(sets, node->gpu[i], PLACE_NONE, node->numa[i / 2], 28);
        if (i % 2 == 0)
            run_together(sets, node->gpu[i], node->gpu[i + 1], node->numa[i / 2], 14);
    }
    values_finish(values);
    struct snapshot *snap = snapshot_new(node->graph, values, NULL, 0, 0, 1);
    need(snap != NULL);
    snap->sets = sets;
    need(derive_costs(snap)); /* as a published snapshot has it */
    return snap;
}

struct question {
    const char *name;
    size_t gpus, tasks; /* gpus: of the node that is asked */
    enum traffic_pattern pattern;
    int64_t bytes, host_bytes;
    size_t flows; /* of different sizes between FLOW_TASKS tasks */
};

static const struct question questions[] = {
    {"ring", 8, 8, TRAFFIC_RING, 64 << 20, 0, 0},
    {"alltoall", 8, 8, TRAFFIC_ALLTOALL, 64 << 20, 0, 0},
    {"pairs", 8, 8, TRAFFIC_PAIRS, 64 << 20, 0, 0},
    {"grid2d", 8, 8, TRAFFIC_GRID2D, 64 << 20, 0, 0},
    {"grid3d", 8, 8, TRAFFIC_GRID3D, 64 << 20, 0, 0},
    {"ring-and-host", 8, 8, TRAFFIC_RING, 64 << 20, 64 << 20, 0},
    {"grid2d-and-host", 8, 8, TRAFFIC_GRID2D, 64 << 20, 32 << 20, 0},
    {"alltoall-and-host", 8, 8, TRAFFIC_ALLTOALL, 64 << 20, 32 << 20, 0},
    {"host-of-4", 8, 4, TRAFFIC_NONE, -1, 64 << 20, 0},
    {"ring-of-4", 8, 4, TRAFFIC_RING, 64 << 20, 0, 0},
    {"ring-of-6-and-host", 8, 6, TRAFFIC_RING, 64 << 20, 16 << 20, 0},
    {"small-grid2d-of-6-and-host", 8, 6, TRAFFIC_GRID2D, 128 << 10, 4 << 10, 0},
    {"alltoall-of-5", 8, 5, TRAFFIC_ALLTOALL, 64 << 20, 0, 0},
    {"16-flows", 8, 8, TRAFFIC_NONE, -1, 0, 16},
    {"32-flows", 8, 8, TRAFFIC_NONE, -1, 0, 32},
    {"56-flows", 8, 8, TRAFFIC_NONE, -1, 0, 56},
    {"ring", 16, 16, TRAFFIC_RING, 64 << 20, 0, 0},
    {"alltoall-of-8", 16, 8, TRAFFIC_ALLTOALL, 64 << 20, 0, 0},
    {"grid2d-and-host", 16, 16, TRAFFIC_GRID2D, 64 << 20, 16 << 20, 0},
    {"ring", 64, 64, TRAFFIC_RING, 64 << 20, 0, 0},
    {"grid2d-and-host", 64, 64, TRAFFIC_GRID2D, 64 << 20, 16 << 20, 0},
    {"alltoall-of-32", 64, 32, TRAFFIC_ALLTOALL, 64 << 20, 0, 0},
    {"pairs-and-host", 64, 64, TRAFFIC_PAIRS, 64 << 20, 64 << 20, 0}};

/* So many flows of 1 to 256 MiB, each between two other tasks. */
static void make_flows(struct traffic_exact *flow, size_t count)
{
    size_t pair[FLOW_TASKS * FLOW_TASKS], pairs = 0;
    uint64_t seed = 11;
    for (size_t i = 0; i < FLOW_TASKS * FLOW_TASKS; i++)
        if (i / FLOW_TASKS != i % FLOW_TASKS)
            pair[pairs++] = i;
    for (size_t f = 0; f < count; f++) {
        size_t at = f + random_next(&seed) % (pairs - f), taken = pair[at];
        int64_t bytes = INT64_C(1) << (20 + random_next(&seed) % 8);
        pair[at] = pair[f];
        flow[f] = (struct traffic_exact){.from = (int64_t)(taken / FLOW_TASKS),
                                         .to = (int64_t)(taken % FLOW_TASKS),
                                         .bytes = bytes +
                                                  (int64_t)(random_next(&seed) % (uint64_t)bytes)};
    }
}

struct asked {
    double took_ns, step_ns, gap; /* gap: 0 proven, NAN unknown */
};

static struct asked ask(const struct snapshot *snap, const struct question *question)
{
    struct traffic_exact flow[FLOW_TASKS * FLOW_TASKS];
    make_flows(flow, question->flows);
    struct traffic_request wanted = {.tasks = (int64_t)question->tasks,
                                     .pattern = question->pattern,
                                     .bytes = question->bytes,
                                     .host_bytes = question->host_bytes,
                                     .exact = flow,
                                     .exact_count = question->flows};
    struct allowed allowed = {.given = true};
    struct traffic traffic;
    struct bind_answer answer;
    struct berth_err err = {0};
    locality_cpus(snap->graph, &allowed.cpus);
    double begin = bench_cpu_ns();
    enum berth_code code = plan_traffic(&wanted, &traffic, &err);
    struct bind_request request = {.tasks = wanted.tasks,
                                   .gpus_per_task = 1,
                                   .cores_per_task = 1,
                                   .allowed = &allowed,
                                   .traffic = &traffic};
    if (code == BERTH_OK)
        code = plan_bind(snap, &request, &answer, &err);
    struct asked asked = {.took_ns = bench_cpu_ns() - begin};
    if (code != BERTH_OK) {
        fprintf(stderr, "%s: %s\n", question->name, err.detail);
        exit(1);
    }
    asked.step_ns = answer.predicted.time_ns;
    asked.gap = answer.is_proven ? 0 : answer.gap;
    plan_bind_done(&answer);
    plan_traffic_done(&traffic);
    return asked;
}

static void measure_times(const struct snapshot *snap, const char *node, size_t gpus)
{
    for (size_t q = 0; q < sizeof questions / sizeof questions[0]; q++) {
        double took_ns[ROUNDS], gap = NAN;
        if (questions[q].gpus != gpus)
            continue;
        for (size_t i = 0; i < ROUNDS; i++) {
            struct asked asked = ask(snap, &questions[q]);
            took_ns[i] = asked.took_ns;
            gap = asked.gap;
        }
        printf("%zu-%s/%s %.3f ", gpus, node, questions[q].name,
               bench_median(took_ns, ROUNDS) / 1e6);
        printf(isnan(gap) ? "unknown\n" : "%.2f\n", 100 * gap);
    }
}

/* The same node with its gpus in other orders has the same best. */
static void measure_spread(const struct node *node, const struct question *question)
{
    uint64_t seed = 7;
    double least = INFINITY, most = 0;
    for (int round = 0; round < 10; round++) {
        size_t order[64];
        for (size_t g = 0; g < node->gpus; g++)
            order[g] = g;
        for (size_t m = node->gpus / 2; round > 0 && m-- > 1;) {
            size_t other = random_next(&seed) % (m + 1);
            for (size_t i = 0; i < 2; i++) {
                size_t was = order[2 * m + i];
                order[2 * m + i] = order[2 * other + i];
                order[2 * other + i] = was;
            }
        }
        struct snapshot *snap = measure(node, order, 42);
        double step_ns = ask(snap, question).step_ns;
        least = fmin(least, step_ns);
        most = fmax(most, step_ns);
        snapshot_unref(snap);
    }
    printf("spread-%zu-built/%s %.2f\n", node->gpus, question->name, 100 * (most / least - 1));
}

static void measure_built(size_t gpus)
{
    struct node node = build(gpus);
    size_t order[64];
    for (size_t g = 0; g < gpus; g++)
        order[g] = g;
    struct snapshot *snap = measure(&node, order, 42);
    measure_times(snap, "built", gpus);
    for (size_t q = 0; gpus == 64 && q < sizeof questions / sizeof questions[0]; q++)
        if (questions[q].gpus == gpus)
            measure_spread(&node, &questions[q]);
    snapshot_unref(snap);
    graph_unref(node.graph);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        double ignored;
        struct snapshot *snap = bench_node(argv[i], &ignored);
        measure_times(snap, basename(argv[i]), 8);
        snapshot_unref(snap);
    }
    measure_built(8);
    measure_built(16);
    measure_built(64);
    return 0;
}
