/* Bind by the traffic of tasks, on a node like Frontier's and LUMI's as if measured, and on
 * others. */
#include "unit/plan/bind/bind_answer.h"

#define GB 1e9
#define MB INT64_C(1000000)

static void rate(struct values *values, enum metric metric, place_id from, place_id to,
                 double gb_per_s)
{
    nodes_value(values, metric, VALUE_MEASURED, from, to, "", gb_per_s * GB, gb_per_s * 0.99 * GB,
                gb_per_s * 1.01 * GB);
}

static void together(struct sets *sets, const place_id *from, const place_id *to, size_t count,
                     double each)
{
    struct set_flow flow[2];
    for (size_t i = 0; i < count; i++)
        flow[i] = (struct set_flow){.from = from[i],
                                    .to = to[i],
                                    .axes = (char *)"",
                                    .bytes_per_s = each * GB,
                                    .low = each * 0.99 * GB,
                                    .high = each * 1.01 * GB};
    assert_true(sets_add(sets, &(struct set){.metric = METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT,
                                             .flow = flow,
                                             .flow_count = count}));
}

static place_id gpu(const struct fixture *f, int n) { return nodes_place(f->graph, PLACE_GPU, n); }

static struct fixture begin(struct graph *graph, struct values *values, struct sets *sets)
{
    struct fixture f = {.graph = graph, .snap = nodes_snapshot_of(graph, values, sets)};
    f.allowed.given = true;
    locality_cpus(graph, &f.allowed.cpus);
    return f;
}

/* Kernels get 200 GB/s within a module, 100 within {0, 1, 6, 7} and {2, 3, 4, 5}, 50 else, copy
 * engines at most 50; every gpu 28.3 to and from any NUMA node, two of a module 28.1 together.
 * renamed: what number each gpu has, NULL its own. */
static struct fixture mi250x(const int *renamed)
{
    struct graph *graph = nodes_mi250x();
    struct values *values = values_new();
    struct sets *sets = sets_new();
    place_id place[8], numa[4];
    assert_true(values != NULL && sets != NULL);
    for (int g = 0; g < 8; g++)
        place[g] = nodes_place(graph, PLACE_GPU, g);
    for (int n = 0; n < 4; n++)
        numa[n] = nodes_place(graph, PLACE_NUMA, n);
    for (int a = 0; a < 8; a++) {
        for (int b = 0; b < 8; b++) {
            bool same_half = (a / 2 == 0 || a / 2 == 3) == (b / 2 == 0 || b / 2 == 3);
            double wide = a / 2 == b / 2 ? 200 : same_half ? 100 : 50;
            if (a != b) {
                rate(values, METRIC_GPU_GPU_KERNEL, place[a], place[b], wide);
                rate(values, METRIC_GPU_GPU_COPY_ENGINE, place[a], place[b], wide > 50 ? 50 : 37.5);
            }
        }
        for (int n = 0; n < 4; n++) {
            rate(values, METRIC_HOST_GPU_COPY_ENGINE, place[a], numa[n], 28.3);
            rate(values, METRIC_HOST_GPU_COPY_ENGINE, numa[n], place[a], 28.3);
        }
        together(sets, &place[a], &numa[0], 1, 28.3);
        together(sets, &numa[0], &place[a], 1, 28.3);
        /* both ways at once: nothing is lost */
        together(sets, (place_id[]){place[a], numa[0]}, (place_id[]){numa[0], place[a]}, 2, 28.3);
    }
    for (int m = 0; m < 4; m++) {
        together(sets, &place[2 * m], (place_id[]){numa[0], numa[0]}, 2, 14.05);
        together(sets, (place_id[]){numa[0], numa[0]}, &place[2 * m], 2, 14.05);
    }
    together(sets, (place_id[]){place[2], place[4]}, (place_id[]){numa[0], numa[0]}, 2, 28.3);
    together(sets, (place_id[]){numa[0], numa[0]}, (place_id[]){place[2], place[4]}, 2, 28.3);
    for (int g = 0; g < 8 && renamed != NULL; g++) {
        graph->places[place[g]].number = renamed[g];
        snprintf(graph->places[place[g]].name, sizeof graph->places[place[g]].name, "gpu%d",
                 renamed[g]);
    }
    return begin(graph, values, sets);
}

struct wanted {
    int64_t tasks, each, per_gpu;
    enum traffic_pattern pattern;
    int64_t bytes, host_bytes;
    enum copy_by by;
    bool in_order;
};

static enum berth_code ask(struct fixture *f, struct wanted wanted)
{
    struct traffic_request request = {.tasks = wanted.tasks,
                                      .pattern = wanted.pattern,
                                      .bytes = wanted.bytes,
                                      .host_bytes = wanted.host_bytes};
    struct traffic traffic = {0};
    plan_bind_done(&f->answer);
    f->err = (struct berth_err){0};
    assert_int_equal(plan_traffic(&request, &traffic, &f->err), BERTH_OK);
    struct bind_request bind = {.tasks = wanted.tasks,
                                .gpus_per_task = wanted.each > 0 ? wanted.each : -1,
                                .tasks_per_gpu = wanted.per_gpu,
                                .cores_per_task = 1,
                                .in_rank_order = wanted.in_order,
                                .allowed = &f->allowed,
                                .traffic = &traffic,
                                .by = wanted.by};
    enum berth_code code = plan_bind(f->snap, &bind, &f->answer, &f->err);
    plan_traffic_done(&traffic);
    return code;
}

static double step_of(struct fixture *f, struct wanted wanted)
{
    if (ask(f, wanted) != BERTH_OK)
        fail_msg("%s", f->err.detail);
    assert_true(f->answer.predicted.time_ns > 0 &&
                f->answer.predicted.time_ns <= f->answer.baseline.time_ns * (1 + 1e-9));
    return f->answer.predicted.time_ns;
}

static int number_of(const struct fixture *f, size_t task, size_t i)
{
    return graph_place(f->graph, f->answer.task[task].gpus[i])->number;
}

/* The gpus of all tasks, a bit each. */
static unsigned used(const struct fixture *f)
{
    unsigned mask = 0;
    for (size_t t = 0; t < f->answer.task_count; t++)
        for (size_t i = 0; i < (size_t)f->answer.gpus_per_task; i++)
            mask |= 1U << number_of(f, t, i);
    return mask;
}

static void allow_gpus(struct fixture *f, unsigned mask)
{
    free(f->allowed.gpus);
    f->allowed.gpus = calloc(f->graph->place_count, sizeof *f->allowed.gpus);
    assert_non_null(f->allowed.gpus);
    for (int g = 0; g < 8; g++)
        f->allowed.gpus[gpu(f, g)] = mask >> g & 1;
}

#define HALF_A 0xC3U /* 0, 1, 6, 7 */
#define HALF_B 0x3CU

/* ---- known right answers ---- */

static void two_that_copy_to_the_host_part_and_two_that_exchange_meet(void **state)
{
    (void)state;
    struct fixture f = mi250x(NULL);
    assert_within(step_of(&f, (struct wanted){.tasks = 2, .host_bytes = 283 * MB}), 10e6, 1e-2);
    assert_int_not_equal(number_of(&f, 0, 0) / 2, number_of(&f, 1, 0) / 2);
    assert_within(f.answer.baseline.time_ns, 283e6 / 14.05, 1e-2);
    assert_true(f.answer.is_proven && f.answer.gap == 0);
    assert_true(lines_with(&f.answer.reasons, "in order, module0:host-port") &&
                lines_with(&f.answer.reasons, " GB/s together, 28.3 GB/s alone"));
    assert_false(lines_with(&f.answer.warnings, "share"));
    for (size_t t = 0; t < 2; t++) {
        const struct place *own = graph_place(f.graph, f.answer.task[t].gpus[0]);
        assert_true(cpuset_contains(own->cpus, &f.answer.task[t].cpus));
        assert_int_equal(f.answer.task[t].memory, own->numa);
    }
    assert_within(
        step_of(&f, (struct wanted){.tasks = 2, .pattern = TRAFFIC_PAIRS, .bytes = 200 * MB}), 1e6,
        1e-2);
    assert_int_equal(used(&f), 3);
    assert_within(f.answer.baseline.time_ns, 1e6, 1e-2);
    /* Also with others allowed only: gpu1, gpu4, gpu5 */
    allow_gpus(&f, 0x32);
    step_of(&f, (struct wanted){.tasks = 2, .host_bytes = 283 * MB});
    assert_true(used(&f) & 2);
    step_of(&f, (struct wanted){.tasks = 2, .pattern = TRAFFIC_PAIRS, .bytes = 200 * MB});
    assert_int_equal(used(&f), 0x30);
    end(&f);
}

static void a_ring_of_four_belongs_on_one_half(void **state)
{
    (void)state;
    struct fixture f = mi250x(NULL);
    struct wanted ring = {
        .tasks = 4, .pattern = TRAFFIC_RING, .bytes = 100 * MB, .by = COPY_BY_KERNEL};
    assert_within(step_of(&f, ring), 1e6, 1e-2);
    assert_true(used(&f) == HALF_A || used(&f) == HALF_B);
    assert_within(f.answer.baseline.time_ns, 2e6, 1e-2);
    assert_true(f.answer.is_proven);
    ring.by = COPY_BEST;
    assert_within(step_of(&f, ring), 1e6, 1e-2);
    ring.in_order = true;
    assert_within(step_of(&f, ring), 1e6, 1e-2);
    for (size_t t = 1; t < 4; t++)
        assert_true(number_of(&f, t, 0) > number_of(&f, t - 1, 0));
    ring.in_order = false;
    allow_gpus(&f, 0xBE);
    assert_within(step_of(&f, ring), 1e6, 1e-2);
    assert_int_equal(used(&f), HALF_B);
    allow_gpus(&f, 0x5F); /* three of each half */
    assert_within(step_of(&f, ring), 2e6, 1e-2);
    end(&f);
}

static void four_that_copy_to_the_host_take_four_modules(void **state)
{
    (void)state;
    struct fixture f = mi250x(NULL);
    struct wanted four = {.tasks = 4, .host_bytes = 283 * MB, .pattern = TRAFFIC_RING, .bytes = MB};
    assert_within(step_of(&f, four), 10e6, 1e-2);
    for (int m = 0; m < 4; m++)
        assert_true((used(&f) >> 2 * m & 3) == 1 || (used(&f) >> 2 * m & 3) == 2);
    assert_within(f.answer.baseline.time_ns, 283e6 / 14.05, 1e-2);
    allow_gpus(&f, 0xAB); /* 0, 1, 3, 5, 7 */
    assert_within(step_of(&f, four), 10e6, 1e-2);
    allow_gpus(&f, 0x2B); /* three modules */
    assert_within(step_of(&f, four), 283e6 / 14.05, 1e-2);
    assert_true(lines_with(&f.answer.warnings, "module0:host-port") &&
                strstr(f.answer.bottleneck, "module0:host-port") != NULL);
    end(&f);
}

/* Four superchips: cores, memory and a gpu each, with own GB/s between those and 60 to the others'
 * memory; model: of the gpus. */
static struct fixture superchips(const char *model, double own)
{
    struct graph *graph = nodes_cpu(&(struct shape){4, 1, 1, 8, 1, INT64_C(120) << 30});
    struct values *values = values_new();
    place_id place[4], numa[4];
    assert_non_null(values);
    for (int g = 0; g < 4; g++) {
        numa[g] = nodes_place(graph, PLACE_NUMA, g);
        struct cpuset cpus = *graph_place(graph, numa[g])->cpus;
        place[g] = nodes_add(graph, PLACE_GPU, g, numa[g], numa[g], &cpus);
        graph->places[place[g]].capacity_bytes = INT64_C(96) << 30;
        assert_true(place_set_text(&graph->places[place[g]].model, model));
    }
    for (int g = 0; g < 4; g++)
        for (int other = 0; other < 4; other++) {
            rate(values, METRIC_HOST_GPU_COPY_ENGINE, place[g], numa[other], g == other ? own : 60);
            rate(values, METRIC_HOST_GPU_COPY_ENGINE, numa[other], place[g], g == other ? own : 60);
            if (g != other)
                rate(values, METRIC_GPU_GPU_COPY_ENGINE, place[g], place[other], 130);
        }
    return begin(graph, values, sets_new());
}

static void a_task_stays_inside_one_superchip(void **state)
{
    (void)state;
    struct fixture f = superchips("NVIDIA GH200 480GB", 350);
    for (int64_t tasks = 1; tasks <= 4; tasks++) {
        assert_within(step_of(&f, (struct wanted){.tasks = tasks,
                                                  .host_bytes = 350 * MB,
                                                  .pattern = TRAFFIC_RING,
                                                  .bytes = MB}),
                      1e6, 1e-2);
        for (size_t t = 0; t < (size_t)tasks; t++) {
            place_id numa = graph_place(f.graph, f.answer.task[t].gpus[0])->numa;
            assert_int_equal(f.answer.task[t].memory, numa);
            assert_true(cpuset_contains(graph_place(f.graph, numa)->cpus, &f.answer.task[t].cpus));
        }
    }
    /* The first superchip's cores are somebody else's: a task that copies to the host goes where it
     * has cores. */
    for (unsigned c = 0; c < 8; c++)
        cpuset_remove(&f.allowed.cpus, c);
    assert_within(step_of(&f, (struct wanted){.tasks = 1, .host_bytes = 350 * MB}), 1e6, 1e-2);
    assert_int_equal(number_of(&f, 0, 0), 1);
    step_of(&f, (struct wanted){.tasks = 4, .host_bytes = 350 * MB});
    assert_within(f.answer.predicted.time_ns, 350e6 / 60, 1e-2);
    end(&f);
}

/* A copy within one memory is slower than one between two: that is no reason to send a task away
 * from it. */
static void where_processor_and_gpu_have_one_memory_a_task_stays_with_it(void **state)
{
    (void)state;
    struct fixture f = superchips("AMD Instinct MI300A", 30);
    for (int64_t tasks = 1; tasks <= 4; tasks++) {
        step_of(&f, (struct wanted){.tasks = tasks, .host_bytes = 30 * MB});
        for (size_t t = 0; t < (size_t)tasks; t++)
            assert_int_equal(f.answer.task[t].memory,
                             graph_place(f.graph, f.answer.task[t].gpus[0])->numa);
    }
    end(&f);
}

/* One package with two NUMA nodes, and four gpus that hang on the package: each gets 55 GB/s to
 * either memory, which takes no more in all. */
static void gpus_of_a_whole_package_use_all_of_its_memories(void **state)
{
    (void)state;
    struct graph *graph = nodes_cpu(&(struct shape){1, 2, 1, 4, 1, INT64_C(64) << 30});
    struct values *values = values_new();
    struct sets *sets = sets_new();
    place_id place[4],
        package = nodes_place(graph, PLACE_PACKAGE, 0),
        numa[] = {nodes_place(graph, PLACE_NUMA, 0), nodes_place(graph, PLACE_NUMA, 1)};
    struct cpuset cpus = *graph_place(graph, package)->cpus;
    for (int g = 0; g < 4; g++)
        place[g] = nodes_add(graph, PLACE_GPU, g, package, PLACE_NONE, &cpus);
    for (int g = 0; g < 4; g++)
        for (int n = 0; n < 2; n++) {
            rate(values, METRIC_HOST_GPU_COPY_ENGINE, place[g], numa[n], 55);
            rate(values, METRIC_HOST_GPU_COPY_ENGINE, numa[n], place[g], 55);
            together(sets, &place[g], &numa[n], 1, 55);
            together(sets, &numa[n], &place[g], 1, 55);
            if (g % 2 == 0) {
                together(sets, &place[g], (place_id[]){numa[n], numa[n]}, 2, 27.5);
                together(sets, (place_id[]){numa[n], numa[n]}, &place[g], 2, 27.5);
            }
        }
    together(sets, (place_id[]){place[0], place[3]}, (place_id[]){numa[0], numa[0]}, 2, 27.5);
    together(sets, (place_id[]){place[0], place[1]}, numa, 2, 55);
    together(sets, numa, (place_id[]){place[0], place[1]}, 2, 55);
    struct fixture f = begin(graph, values, sets);
    assert_within(step_of(&f, (struct wanted){.tasks = 2, .host_bytes = 55 * MB}), 1e6, 1e-2);
    assert_int_not_equal(f.answer.task[0].memory, f.answer.task[1].memory);
    assert_true(f.answer.is_proven);
    assert_within(step_of(&f, (struct wanted){.tasks = 4, .host_bytes = 55 * MB}), 2e6, 1e-2);
    for (size_t t = 0; t < 4; t++)
        assert_true(cpuset_contains(graph_place(graph, f.answer.task[t].memory)->cpus,
                                    &f.answer.task[t].cpus));
    end(&f);
}

/* ---- properties ---- */

static const struct wanted cases[] = {
    {.tasks = 4, .pattern = TRAFFIC_RING, .bytes = 64 * MB},
    {.tasks = 6, .pattern = TRAFFIC_GRID2D, .bytes = 64 * MB, .host_bytes = 16 * MB},
    {.tasks = 3, .pattern = TRAFFIC_ALLTOALL, .bytes = 64 * MB, .host_bytes = 64 * MB},
    {.tasks = 8, .pattern = TRAFFIC_PAIRS, .bytes = 64 * MB},
    {.tasks = 5, .pattern = TRAFFIC_ALLREDUCE, .bytes = 64 * MB, .host_bytes = MB},
    {.tasks = 2, .each = 2, .pattern = TRAFFIC_PAIRS, .bytes = 64 * MB, .host_bytes = 16 * MB},
    {.tasks = 12, .per_gpu = 2, .pattern = TRAFFIC_RING, .bytes = 64 * MB},
    {.tasks = 4, .host_bytes = 64 * MB, .in_order = true},
};
#define CASES (sizeof cases / sizeof cases[0])

static void other_names_leave_the_time(void **state)
{
    (void)state;
    static const int names[][8] = {{7, 6, 5, 4, 3, 2, 1, 0},
                                   {2, 3, 0, 1, 6, 7, 4, 5},
                                   {0, 4, 1, 5, 2, 6, 3, 7},
                                   {5, 2, 7, 0, 3, 6, 1, 4}};
    struct fixture own = mi250x(NULL);
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        struct fixture f = mi250x(names[n]);
        for (size_t c = 0; c < CASES; c++)
            if (!cases[c].in_order) {
                assert_within(step_of(&f, cases[c]), step_of(&own, cases[c]), 1e-2);
                /* of tasks that share gpus another choice may have what was not measured together
                 */
                assert_true(f.answer.is_proven == own.answer.is_proven || cases[c].per_gpu > 1);
            }
        end(&f);
    }
    end(&own);
}

static void twice_the_bytes_leave_the_choice(void **state)
{
    (void)state;
    struct fixture f = mi250x(NULL);
    for (size_t c = 0; c < CASES; c++) {
        int chosen[12];
        double once = step_of(&f, cases[c]);
        size_t berths = f.answer.task_count * (size_t)f.answer.gpus_per_task;
        for (size_t b = 0; b < berths; b++)
            chosen[b] = f.answer.gpu[b];
        struct wanted twice = cases[c];
        twice.bytes *= 2;
        twice.host_bytes *= 2;
        assert_within(step_of(&f, twice), 2 * once, 1e-2);
        for (size_t b = 0; b < berths; b++)
            assert_int_equal(f.answer.gpu[b], chosen[b]);
    }
    end(&f);
}

static void one_more_gpu_never_makes_it_worse(void **state)
{
    (void)state;
    struct fixture f = mi250x(NULL);
    unsigned compared = 0;
    for (size_t c = 0; c < CASES; c++)
        for (unsigned mask = 0x17; mask < 0xFF; mask += 22) {
            allow_gpus(&f, mask);
            if (cases[c].per_gpu > 0 || ask(&f, cases[c]) != BERTH_OK)
                continue;
            double fewer = step_of(&f, cases[c]);
            for (int g = 0; g < 8; g++) {
                allow_gpus(&f, mask | 1U << g);
                /* what differs by less counts as equal */
                assert_true(step_of(&f, cases[c]) <= fewer * 1.01);
                compared++;
            }
        }
    assert_true(compared > 100);
    end(&f);
}

static void fewer_tasks_have_a_plan_as_well(void **state)
{
    (void)state;
    struct fixture f = mi250x(NULL);
    for (size_t c = 0; c < CASES; c++)
        for (struct wanted wanted = cases[c]; wanted.tasks > 1; wanted.tasks--) {
            step_of(&f, wanted);
            struct cpuset all = {0};
            unsigned on[8] = {0};
            for (size_t t = 0; t < f.answer.task_count; t++) {
                assert_false(cpuset_intersects(&all, &f.answer.task[t].cpus));
                cpuset_or(&all, &f.answer.task[t].cpus);
                for (size_t i = 0; i < (size_t)f.answer.gpus_per_task; i++)
                    assert_true(++on[number_of(&f, t, i)] <=
                                (wanted.per_gpu > 0 ? wanted.per_gpu : 1));
            }
        }
    end(&f);
}

/* ---- what is shared, several gpus, nothing known ---- */

static void tasks_share_gpus_evenly_and_the_answer_says_so(void **state)
{
    (void)state;
    struct fixture f = mi250x(NULL);
    assert_int_equal(ask(&f, (struct wanted){.tasks = 12, .pattern = TRAFFIC_PAIRS, .bytes = MB}),
                     BERTH_NOT_ENOUGH);
    assert_int_equal(
        ask(&f, (struct wanted){.tasks = 17, .per_gpu = 2, .pattern = TRAFFIC_PAIRS, .bytes = MB}),
        BERTH_NOT_ENOUGH);
    assert_non_null(
        strstr(f.err.detail,
               "17 tasks with 1 gpu each, up to 2 on one, need 9; allowed and there: gpu0-gpu7"));
    assert_int_equal(
        ask(&f, (struct wanted){.tasks = 2, .each = 2, .per_gpu = 2, .host_bytes = MB}),
        BERTH_INVALID_PARAMETER);
    allow_gpus(&f, 3);
    step_of(&f, (struct wanted){
                    .tasks = 3, .per_gpu = 4, .pattern = TRAFFIC_ALLTOALL, .bytes = 100 * MB});
    unsigned on[2] = {0};
    for (size_t t = 0; t < 3; t++)
        on[number_of(&f, t, 0)]++;
    assert_true((on[0] == 1 && on[1] == 2) || (on[0] == 2 && on[1] == 1));
    assert_true(lines_with(&f.answer.warnings, "3 tasks share 2 gpus"));
    /* Without traffic as well. */
    assert_int_equal(ask(&f, (struct wanted){.tasks = 4, .per_gpu = 2}), BERTH_OK);
    for (size_t t = 0; t < 4; t++)
        assert_int_equal(number_of(&f, t, 0), (int)t / 2);
    end(&f);
}

static void flows_of_several_gpus_are_split_evenly(void **state)
{
    (void)state;
    struct fixture f = mi250x(NULL);
    step_of(&f, (struct wanted){.tasks = 4, .each = 2, .pattern = TRAFFIC_RING, .bytes = 100 * MB});
    assert_int_equal(used(&f), 0xFF);
    /* A quarter of the bytes from each gpu of a task to each of the other's: on one half at 100
     * GB/s or more. */
    double two = step_of(&f, (struct wanted){.tasks = 2,
                                             .each = 2,
                                             .pattern = TRAFFIC_PAIRS,
                                             .bytes = 200 * MB,
                                             .by = COPY_BY_KERNEL});
    assert_within(two, 0.5e6, 1e-2);
    assert_true(used(&f) == HALF_A || used(&f) == HALF_B);
    end(&f);
}

static void what_nothing_predicts_is_null_and_structure_decides(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_mi250x(), values_new(), sets_new());
    assert_int_equal(ask(&f, (struct wanted){.tasks = 4,
                                             .pattern = TRAFFIC_RING,
                                             .bytes = MB,
                                             .by = COPY_BY_KERNEL}),
                     BERTH_OK);
    assert_true(isnan(f.answer.predicted.time_ns) && isnan(f.answer.baseline.time_ns) &&
                isnan(f.answer.gap) && !f.answer.is_proven);
    assert_true(lines_with(&f.answer.warnings, "no time is predicted") &&
                lines_with(&f.answer.warnings, "locality alone decided"));
    assert_int_equal(used(&f), 0x0F); /* two on a module each */
    end(&f);
    /* One that is known goes before those that are not. */
    struct graph *graph = nodes_mi250x();
    struct values *values = values_new();
    rate(values, METRIC_GPU_GPU_COPY_ENGINE, nodes_place(graph, PLACE_GPU, 3),
         nodes_place(graph, PLACE_GPU, 6), 10);
    rate(values, METRIC_GPU_GPU_COPY_ENGINE, nodes_place(graph, PLACE_GPU, 6),
         nodes_place(graph, PLACE_GPU, 3), 10);
    f = begin(graph, values, sets_new());
    assert_int_equal(
        ask(&f, (struct wanted){.tasks = 2, .pattern = TRAFFIC_PAIRS, .bytes = 10 * MB}), BERTH_OK);
    assert_within(f.answer.predicted.time_ns, 1e6, 1e-2);
    assert_true(isnan(f.answer.baseline.time_ns));
    assert_int_equal(used(&f), 0x48);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_that_copy_to_the_host_part_and_two_that_exchange_meet),
        cmocka_unit_test(a_ring_of_four_belongs_on_one_half),
        cmocka_unit_test(four_that_copy_to_the_host_take_four_modules),
        cmocka_unit_test(a_task_stays_inside_one_superchip),
        cmocka_unit_test(where_processor_and_gpu_have_one_memory_a_task_stays_with_it),
        cmocka_unit_test(gpus_of_a_whole_package_use_all_of_its_memories),
        cmocka_unit_test(other_names_leave_the_time),
        cmocka_unit_test(twice_the_bytes_leave_the_choice),
        cmocka_unit_test(one_more_gpu_never_makes_it_worse),
        cmocka_unit_test(fewer_tasks_have_a_plan_as_well),
        cmocka_unit_test(tasks_share_gpus_evenly_and_the_answer_says_so),
        cmocka_unit_test(flows_of_several_gpus_are_split_evenly),
        cmocka_unit_test(what_nothing_predicts_is_null_and_structure_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
