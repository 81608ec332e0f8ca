/*
 * How long Bind takes for the traffic of a step, on nodes built in memory whose measurements differ
 * a little from pair to pair, as real ones do: FIGURE median_ms largest_ms first_ms derived_ms for
 * each size of node and sort of traffic (first: of a new snapshot; derived: what answers rest on,
 * once for each snapshot, before it is published); and how far 64 gpus are from the best that ten
 * other orders of the same gpus led to, and from the best that a long annealing by price finds,
 * from the answer and from random places.
 *
 * bind FOLDER: of a node of at least 8 gpus, as recorded or measured, the same figures for 8 of
 * them and traffic of several sorts, then whether the answer is proven: of all that have dozens of
 * different flows how many, and how far those of the same flows among renumbered tasks are from
 * each other at most, in percent.
 */
#include <math.h>

#include "bench_node.h"
#include "cost/load.h"
#include "node/allowed.h"
#include "node/graph.h"
#include "node/locality.h"
#include "plan/bind/bind.h"
#include "unit/base/random.h"

#define GB     1e9
#define ROUNDS 15

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
 * node, which two of a module share. order: which gpu has which place in this. What answers rest on
 * is made, too: ret_derived_ns. */
static struct snapshot *measure(const struct node *node, const size_t *order, uint64_t seed,
                                double *ret_derived_ns)
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
    double begin = bench_now_ns();
    need(derive_costs(snap)); /* as a published snapshot has it */
    *ret_derived_ns = bench_now_ns() - begin;
    return snap;
}

struct question {
    const char *name;
    size_t tasks;
    enum traffic_pattern pattern;
    int64_t bytes, host_bytes;
};

/* The predicted time of a step; how long the answer took in ret_ns, and where in the node's gpus
 * its tasks are in ret_slot (or NULL). */
static double ask(const struct node *node, struct snapshot *snap, const struct question *question,
                  double *ret_ns, size_t *ret_slot)
{
    struct traffic_request wanted = {.tasks = (int64_t)question->tasks,
                                     .pattern = question->pattern,
                                     .bytes = question->bytes,
                                     .host_bytes = question->host_bytes};
    struct allowed allowed = {.given = true};
    struct traffic traffic;
    struct bind_answer answer;
    struct berth_err err = {0};
    locality_cpus(node->graph, &allowed.cpus);
    double begin = bench_now_ns();
    enum berth_code code = plan_traffic(&wanted, &traffic, &err);
    struct bind_request request = {.tasks = wanted.tasks,
                                   .gpus_per_task = 1,
                                   .cores_per_task = 1,
                                   .allowed = &allowed,
                                   .traffic = &traffic};
    if (code == BERTH_OK)
        code = plan_bind(snap, &request, &answer, &err);
    *ret_ns = bench_now_ns() - begin;
    if (code != BERTH_OK) {
        fprintf(stderr, "%s: %s\n", question->name, err.detail);
        exit(1);
    }
    double step_ns = answer.predicted.time_ns;
    if (getenv("SHOW") != NULL)
        fprintf(stderr, "%s: %.3f ms, in order %.3f ms, %s, gap %.3f\n", question->name,
                step_ns / 1e6, answer.baseline.time_ns / 1e6,
                answer.is_proven ? "proven" : "not proven", answer.gap);
    for (size_t t = 0; ret_slot != NULL && t < question->tasks; t++)
        for (size_t g = 0; g < node->gpus; g++)
            if (node->gpu[g] == answer.gpu[t])
                ret_slot[t] = g;
    plan_bind_done(&answer);
    plan_traffic_done(&traffic);
    return step_ns;
}

static void measure_times(const struct node *node, const struct question *question)
{
    size_t order[64];
    double took[ROUNDS], derived_ns;
    for (size_t g = 0; g < node->gpus; g++)
        order[g] = g;
    struct snapshot *snap = measure(node, order, 42, &derived_ns);
    for (size_t i = 0; i < ROUNDS; i++)
        ask(node, snap, question, &took[i], NULL);
    double first = took[0], median = bench_median(took, ROUNDS);
    printf("%s %.3f %.3f %.3f %.3f\n", question->name, median / 1e6, took[ROUNDS - 1] / 1e6,
           first / 1e6, derived_ns / 1e6);
    snapshot_unref(snap);
}

/* The same node with its gpus in other orders has the same best: what the worst of ten is above the
 * best of them, in percent. */
static void measure_spread(const struct node *node, const struct question *question)
{
    uint64_t seed = 7;
    double least = INFINITY, most = 0, ignored;
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
        struct snapshot *snap = measure(node, order, 42, &ignored);
        double step_ns = ask(node, snap, question, &ignored, NULL);
        least = fmin(least, step_ns);
        most = fmax(most, step_ns);
        snapshot_unref(snap);
    }
    printf("spread-%s %.2f\n", question->name, 100 * (most / least - 1));
}

/* ---- a long annealing, by price alone ---- */

#define ANNEAL_STARTS 3
#define ANNEAL_FLOWS  1.5e6 /* priced from each start */

struct anneal {
    const struct node *node;
    struct load_table *table; /* gpus, then NUMA nodes */
    struct load_scratch *scratch;
    struct traffic traffic;
    struct load_flow *load;
    size_t slot[64]; /* by task; the slots that are left come after */
    double best_ns;
    uint64_t seed;
};

/* The step, and a little of the mean, so that there is a way down where several transfers end last.
 */
static double weigh(struct anneal *anneal)
{
    const struct traffic *traffic = &anneal->traffic;
    for (size_t i = 0; i < traffic->count; i++) {
        const struct traffic_flow *flow = &traffic->flow[i];
        size_t task = (size_t)(flow->from >= 0 ? flow->from : flow->to),
               host = anneal->node->gpus + anneal->slot[task] / 2;
        anneal->load[i] = (struct load_flow){
            .from = (uint16_t)(flow->from >= 0 ? anneal->slot[flow->from] : host),
            .to = (uint16_t)(flow->to >= 0 ? anneal->slot[flow->to] : host),
            .bytes = flow->bytes};
    }
    struct load_time time =
        plan_load_time(anneal->table, anneal->load, traffic->count, anneal->scratch);
    anneal->best_ns = fmin(anneal->best_ns, time.step_ns);
    return time.step_ns + 0.2 * time.sum_ns / (double)traffic->count;
}

static void swap_slots(struct anneal *anneal, size_t a, size_t b)
{
    size_t was = anneal->slot[a];
    anneal->slot[a] = anneal->slot[b];
    anneal->slot[b] = was;
}

/* Threshold accepting: what is worse by less than the heat, which falls to nothing, is taken as
 * well. */
static void cool(struct anneal *anneal, size_t tasks, double hot)
{
    if (tasks == 0 || anneal->traffic.count == 0)
        return;
    double now = weigh(anneal);
    size_t steps = (size_t)(ANNEAL_FLOWS / (double)anneal->traffic.count);
    for (size_t step = 0; step < steps; step++) {
        size_t a = random_next(&anneal->seed) % tasks,
               b = random_next(&anneal->seed) % anneal->node->gpus;
        double heat = hot * (1 - (double)step / (double)steps);
        swap_slots(anneal, a, b);
        double then = weigh(anneal);
        if (then <= now * (1 + heat))
            now = then;
        else
            swap_slots(anneal, a, b);
    }
}

/* How far the answer is above the best that is known, in percent. */
static void measure_beyond(const struct node *node, const struct question *question)
{
    size_t order[64];
    place_id place[96];
    struct berth_err err = {0};
    double ignored;
    for (size_t g = 0; g < node->gpus; g++)
        order[g] = g;
    struct snapshot *snap = measure(node, order, 42, &ignored);
    struct anneal anneal = {.node = node, .best_ns = INFINITY, .seed = 5};
    double step_ns = ask(node, snap, question, &ignored, anneal.slot);
    struct traffic_request wanted = {.tasks = (int64_t)question->tasks,
                                     .pattern = question->pattern,
                                     .bytes = question->bytes,
                                     .host_bytes = question->host_bytes};
    memcpy(place, node->gpu, node->gpus * sizeof *place);
    memcpy(place + node->gpus, node->numa, node->numas * sizeof *place);
    need(plan_traffic(&wanted, &anneal.traffic, &err) == BERTH_OK &&
         plan_load_new(snap, place, node->gpus + node->numas, LOAD_BEST, &anneal.table, &err) ==
             BERTH_OK);
    anneal.scratch = plan_load_scratch_new(anneal.table, anneal.traffic.count);
    anneal.load = calloc(anneal.traffic.count, sizeof *anneal.load);
    need(anneal.scratch != NULL && anneal.load != NULL);
    size_t used = question->tasks;
    for (size_t g = 0; g < node->gpus; g++) {
        bool is_taken = false;
        for (size_t t = 0; t < question->tasks; t++)
            is_taken = is_taken || anneal.slot[t] == g;
        if (!is_taken)
            anneal.slot[used++] = g;
    }
    for (int start = 0; start < ANNEAL_STARTS; start++) {
        for (size_t g = node->gpus; start > 0 && g-- > 1;)
            swap_slots(&anneal, g, random_next(&anneal.seed) % (g + 1));
        cool(&anneal, question->tasks, start > 0 ? 0.1 : 0.005);
    }
    printf("beyond-%s %.2f\n", question->name, 100 * fmax(step_ns / anneal.best_ns - 1, 0));
    free(anneal.load);
    plan_load_scratch_free(anneal.scratch);
    plan_load_free(anneal.table);
    plan_traffic_done(&anneal.traffic);
    snapshot_unref(snap);
}

/* bind NAME, bind FOLDER NAME: that question alone. */
static bool is_wanted(const char *only, const struct question *question)
{
    return only == NULL || strcmp(only, question->name) == 0;
}

/* ---- a node folder ---- */

#define FLOW_ROUNDS 6 /* sets of flows for each count of them */
#define FLOW_TASKS  8

struct asked {
    double median_ns, most_ns, step_ns;
    bool is_proven;
};

static struct asked ask_often(struct snapshot *snap, const struct traffic_request *wanted,
                              size_t rounds)
{
    struct allowed allowed = {.given = true};
    struct berth_err err = {0};
    double took[ROUNDS];
    struct asked asked = {0};
    locality_cpus(snap->graph, &allowed.cpus);
    for (size_t i = 0; i < rounds; i++) {
        struct traffic traffic;
        struct bind_answer answer;
        double begin = bench_now_ns();
        enum berth_code code = plan_traffic(wanted, &traffic, &err);
        struct bind_request request = {
            .tasks = wanted->tasks, .gpus_per_task = 1, .allowed = &allowed, .traffic = &traffic};
        if (code == BERTH_OK)
            code = plan_bind(snap, &request, &answer, &err);
        took[i] = bench_now_ns() - begin;
        if (code != BERTH_OK) {
            fprintf(stderr, "%s\n", err.detail);
            exit(1);
        }
        asked.step_ns = answer.predicted.time_ns;
        asked.is_proven = answer.is_proven;
        plan_bind_done(&answer);
        plan_traffic_done(&traffic);
    }
    asked.median_ns = bench_median(took, rounds);
    asked.most_ns = took[rounds - 1];
    return asked;
}

/* So many flows of 1 to 256 MiB, each between two other tasks. */
static void make_flows(struct traffic_exact *flow, size_t count, uint64_t *seed)
{
    size_t pair[FLOW_TASKS * FLOW_TASKS], pairs = 0;
    for (size_t i = 0; i < FLOW_TASKS * FLOW_TASKS; i++)
        if (i / FLOW_TASKS != i % FLOW_TASKS)
            pair[pairs++] = i;
    for (size_t f = 0; f < count; f++) {
        size_t at = f + random_next(seed) % (pairs - f), taken = pair[at];
        pair[at] = pair[f];
        flow[f] =
            (struct traffic_exact){(int64_t)(taken / FLOW_TASKS), (int64_t)(taken % FLOW_TASKS),
                                   (int64_t)1 << 20 << random_next(seed) % 8};
        flow[f].bytes += (int64_t)(random_next(seed) % (uint64_t)flow[f].bytes);
    }
}

static void measure_flows(struct snapshot *snap, size_t count)
{
    uint64_t seed = 11;
    double took[2 * FLOW_ROUNDS], apart = 0;
    size_t proven = 0;
    for (size_t round = 0; round < FLOW_ROUNDS; round++) {
        struct traffic_exact flow[FLOW_TASKS * FLOW_TASKS];
        int64_t renamed[FLOW_TASKS] = {0};
        struct asked asked[2];
        make_flows(flow, count, &seed);
        for (size_t t = 0; t < FLOW_TASKS; t++) {
            size_t other = random_next(&seed) % (t + 1);
            renamed[t] = renamed[other];
            renamed[other] = (int64_t)t;
        }
        for (size_t turn = 0; turn < 2; turn++) {
            const struct traffic_request wanted = {
                .tasks = FLOW_TASKS, .bytes = -1, .exact = flow, .exact_count = count};
            asked[turn] = ask_often(snap, &wanted, 1);
            took[2 * round + turn] = asked[turn].median_ns;
            proven += asked[turn].is_proven;
            for (size_t f = 0; f < count; f++)
                flow[f] = (struct traffic_exact){renamed[flow[f].from], renamed[flow[f].to],
                                                 flow[f].bytes};
        }
        apart = fmax(apart, fabs(asked[1].step_ns / asked[0].step_ns - 1));
    }
    double median = bench_median(took, 2 * FLOW_ROUNDS);
    printf("%zu-flows %.3f %.3f proven %zu of %d, apart %.3f\n", count, median / 1e6,
           took[2 * FLOW_ROUNDS - 1] / 1e6, proven, 2 * FLOW_ROUNDS, 100 * apart);
}

static void measure_folder(const char *folder, const char *only)
{
    static const struct question question[] = {
        {"ring", 8, TRAFFIC_RING, 64 << 20, 0},
        {"pairs", 8, TRAFFIC_PAIRS, 64 << 20, 0},
        {"grid2d", 8, TRAFFIC_GRID2D, 64 << 20, 0},
        {"grid3d", 8, TRAFFIC_GRID3D, 64 << 20, 0},
        {"alltoall", 8, TRAFFIC_ALLTOALL, 64 << 20, 0},
        {"allreduce", 8, TRAFFIC_ALLREDUCE, 64 << 20, 0},
        {"ring-and-host", 8, TRAFFIC_RING, 64 << 20, 32 << 20},
        {"grid2d-and-host", 8, TRAFFIC_GRID2D, 64 << 20, 32 << 20},
        {"alltoall-and-host", 8, TRAFFIC_ALLTOALL, 64 << 20, 32 << 20},
        {"grid2d-of-6-and-host", 6, TRAFFIC_GRID2D, 128 << 10, 4 << 10},
        {"ring-of-4", 4, TRAFFIC_RING, 64 << 20, 0},
        {"alltoall-of-5-and-host", 5, TRAFFIC_ALLTOALL, 64 << 20, 1 << 20}};
    double derived_ns;
    struct snapshot *snap = bench_node(folder, &derived_ns);
    for (size_t q = 0; q < sizeof question / sizeof question[0]; q++) {
        if (!is_wanted(only, &question[q]))
            continue;
        const struct traffic_request wanted = {.tasks = (int64_t)question[q].tasks,
                                               .pattern = question[q].pattern,
                                               .bytes = question[q].bytes,
                                               .host_bytes = question[q].host_bytes};
        struct asked asked = ask_often(snap, &wanted, ROUNDS);
        printf("%s %.3f %.3f %s, step %.6f ms\n", question[q].name, asked.median_ns / 1e6,
               asked.most_ns / 1e6, asked.is_proven ? "proven" : "not proven", asked.step_ns / 1e6);
    }
    for (size_t count = 16; only == NULL && count <= FLOW_TASKS * (FLOW_TASKS - 1); count += 8)
        measure_flows(snap, count);
    snapshot_unref(snap);
}

int main(int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : NULL;
    if (only != NULL && strchr(only, '/') != NULL) {
        measure_folder(only, argc > 2 ? argv[2] : NULL);
        return 0;
    }
    static const struct question of8[] = {
        {"8-ring", 8, TRAFFIC_RING, 64 << 20, 0},
        {"8-alltoall", 8, TRAFFIC_ALLTOALL, 64 << 20, 0},
        {"8-pairs", 8, TRAFFIC_PAIRS, 64 << 20, 0},
        {"8-grid2d", 8, TRAFFIC_GRID2D, 64 << 20, 0},
        {"8-grid3d", 8, TRAFFIC_GRID3D, 64 << 20, 0},
        {"8-ring-and-host", 8, TRAFFIC_RING, 64 << 20, 64 << 20},
        {"8-host-of-4", 4, TRAFFIC_NONE, 0, 64 << 20},
        {"8-ring-of-4", 4, TRAFFIC_RING, 64 << 20, 0},
        {"8-ring-of-6-and-host", 6, TRAFFIC_RING, 64 << 20, 16 << 20},
        {"8-alltoall-of-5", 5, TRAFFIC_ALLTOALL, 64 << 20, 1 << 20}};
    static const struct question of16[] = {
        {"16-ring", 16, TRAFFIC_RING, 64 << 20, 0},
        {"16-alltoall-of-8", 8, TRAFFIC_ALLTOALL, 64 << 20, 0},
        {"16-grid2d-and-host", 16, TRAFFIC_GRID2D, 64 << 20, 16 << 20}};
    static const struct question of64[] = {{"64-ring", 64, TRAFFIC_RING, 64 << 20, 0},
                                           {"64-grid2d", 64, TRAFFIC_GRID2D, 64 << 20, 16 << 20},
                                           {"64-alltoall-of-32", 32, TRAFFIC_ALLTOALL, 64 << 20, 0},
                                           {"64-pairs", 64, TRAFFIC_PAIRS, 64 << 20, 64 << 20}};
    struct node node = build(8);
    for (size_t i = 0; i < sizeof of8 / sizeof of8[0]; i++)
        if (is_wanted(only, &of8[i]))
            measure_times(&node, &of8[i]);
    graph_unref(node.graph);
    node = build(16);
    for (size_t i = 0; i < sizeof of16 / sizeof of16[0]; i++)
        if (is_wanted(only, &of16[i]))
            measure_times(&node, &of16[i]);
    graph_unref(node.graph);
    node = build(64);
    for (size_t i = 0; i < sizeof of64 / sizeof of64[0]; i++) {
        if (!is_wanted(only, &of64[i]))
            continue;
        measure_times(&node, &of64[i]);
        measure_spread(&node, &of64[i]);
        measure_beyond(&node, &of64[i]);
    }
    graph_unref(node.graph);
    return 0;
}
