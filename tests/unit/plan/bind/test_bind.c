#include "unit/plan/bind/bind_answer.h"

#include "plan/bind/launcher_options.h"

static struct fixture begin(struct graph *graph, struct values *values)
{
    return fixture_of(nodes_snapshot(graph, values));
}

static void allow_cpus(struct fixture *f, const char *list)
{
    struct berth_err err = {0};
    assert_int_equal(cpuset_parse(list, &f->allowed.cpus, &err), BERTH_OK);
}

static void allow_only(struct fixture *f, bool **mark, enum place_kind kind, int number)
{
    if (*mark == NULL)
        *mark = calloc(f->snap->graph->place_count, sizeof **mark);
    assert_non_null(*mark);
    (*mark)[nodes_place(f->snap->graph, kind, number)] = true;
}

static enum berth_code ask(struct fixture *f, struct bind_request request)
{
    plan_bind_done(&f->answer);
    f->err = (struct berth_err){0};
    request.allowed = &f->allowed;
    return plan_bind(f->snap, &request, &f->answer, &f->err);
}

static void assert_cpus(const struct fixture *f, size_t task, const char *list)
{
    char *text = cpuset_list_new(&f->answer.task[task].cpus);
    assert_string_equal(text, list);
    free(text);
}

static int gpu_of(const struct fixture *f, size_t task, size_t i)
{
    return graph_place(f->snap->graph, f->answer.task[task].gpus[i])->number;
}
static int memory_of(const struct fixture *f, size_t task)
{
    return graph_place(f->snap->graph, f->answer.task[task].memory)->number;
}

#define RESERVED "1-7,9-15,17-23,25-31,33-39,41-47,49-55,57-63"

static void frontier_with_reserved_cores(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_mi250x(), NULL);
    char *slurm = NULL;
    allow_cpus(&f, RESERVED);
    assert_int_equal(ask(&f, (struct bind_request){.tasks = 8,
                                                   .gpus_per_task = -1,
                                                   .cores_per_task = 7,
                                                   .in_rank_order = true}),
                     BERTH_OK);
    for (int t = 0; t < 8; t++)
        assert_int_equal(gpu_of(&f, (size_t)t, 0), t);
    assert_int_equal(launcher_options(LAUNCHER_SLURM, f.snap, &f.allowed, &f.answer, NULL,
                                      &f.answer.warnings, &slurm, &f.err),
                     BERTH_OK);
    assert_string_equal(slurm, "--cpu-bind=mask_cpu:0xfe000000000000,0xfe00000000000000,0xfe0000,"
                               "0xfe000000,0xfe,0xfe00,0xfe00000000,0xfe0000000000"
                               " --gpu-bind=map_gpu:0,1,2,3,4,5,6,7");
    free(slurm);
    assert_int_equal(f.answer.warnings.count, 0);
    end(&f);
}

static void each_gcd_gets_its_own_ccx(void **state)
{
    (void)state;
    static const char *const cpus[] = {"48-55,112-119", "56-63,120-127", "16-23,80-87",
                                       "24-31,88-95",   "0-7,64-71",     "8-15,72-79",
                                       "32-39,96-103",  "40-47,104-111"};
    static const int numas[] = {3, 3, 1, 1, 0, 0, 2, 2};
    struct fixture f = begin(nodes_mi250x(), NULL);
    assert_int_equal(ask(&f, (struct bind_request){.tasks = 8, .gpus_per_task = -1}), BERTH_OK);
    assert_int_equal(f.answer.gpus_per_task, 1);
    assert_int_equal(f.answer.cores_per_task, 8);
    for (size_t t = 0; t < 8; t++) {
        assert_int_equal(gpu_of(&f, t, 0), (int)t);
        assert_cpus(&f, t, cpus[t]);
        assert_int_equal(memory_of(&f, t), numas[t]);
        assert_int_equal(f.answer.task[t].nic_count, 1);
        assert_int_equal(graph_place(f.snap->graph, f.answer.nic[f.answer.task[t].nics])->numa,
                         f.answer.task[t].memory);
    }
    assert_int_equal(ask(&f, (struct bind_request){.tasks = 8,
                                                   .gpus_per_task = 1,
                                                   .cores_per_task = 7,
                                                   .threads_per_core = 1}),
                     BERTH_OK);
    assert_cpus(&f, 0, "48-54");
    assert_false(f.answer.is_proven);
    end(&f);
}

static void fewer_tasks_stand_on_different_modules(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_mi250x(), NULL);
    assert_int_equal(ask(&f, (struct bind_request){.tasks = 4, .gpus_per_task = 1}), BERTH_OK);
    for (size_t t = 0; t < 4; t++)
        assert_int_equal(gpu_of(&f, t, 0), 2 * (int)t);
    /* gpus next to which cores are allowed go first */
    allow_cpus(&f, "0-31");
    assert_int_equal(ask(&f, (struct bind_request){.tasks = 2, .gpus_per_task = 1}), BERTH_OK);
    assert_int_equal(gpu_of(&f, 0, 0), 2);
    assert_int_equal(gpu_of(&f, 1, 0), 4);
    assert_cpus(&f, 0, "16-23");
    end(&f);
}

static void the_gpus_of_a_task_stand_on_one_module(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_mi250x(), NULL);
    assert_int_equal(
        ask(&f, (struct bind_request){.tasks = 4, .gpus_per_task = 2, .cores_per_task = 16}),
        BERTH_OK);
    for (size_t t = 0; t < 4; t++) {
        assert_int_equal(gpu_of(&f, t, 0), 2 * (int)t);
        assert_int_equal(gpu_of(&f, t, 1), 2 * (int)t + 1);
    }
    assert_cpus(&f, 0, "48-63,112-127");
    assert_int_equal(f.answer.warnings.count, 0);
    assert_int_equal(ask(&f, (struct bind_request){.tasks = 4, .gpus_per_task = 2}), BERTH_OK);
    assert_int_equal(f.answer.cores_per_task, 16);
    end(&f);
}

static void a_task_straddles_llcs_only_when_it_must(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_mi250x(), NULL);
    allow_only(&f, &f.allowed.gpus, PLACE_GPU, 4);
    /* llc0, next to gpu4, has 3 cores; llc1 in the same NUMA node has room */
    allow_cpus(&f, "0-2,8-15,16-63");
    assert_int_equal(
        ask(&f, (struct bind_request){.tasks = 1, .gpus_per_task = 1, .cores_per_task = 4}),
        BERTH_OK);
    assert_cpus(&f, 0, "8-11");
    assert_int_equal(subjects_of(&f.answer.warnings, REASON_CORES_AWAY), 1);
    assert_true(reason_with(&f.answer.warnings, REASON_CORES_AWAY)->number[1] == 3);
    /* nowhere in that NUMA node: the nearest, then the next nearest */
    allow_cpus(&f, "0-2,8-9,16-63");
    assert_int_equal(
        ask(&f, (struct bind_request){.tasks = 1, .gpus_per_task = 1, .cores_per_task = 4}),
        BERTH_OK);
    assert_cpus(&f, 0, "0-2,8");
    assert_int_equal(subjects_of(&f.answer.warnings, REASON_CORES_AWAY), 1);
    assert_int_equal(memory_of(&f, 0), 0);
    end(&f);
}

static void measured_rates_go_before_structure(void **state)
{
    (void)state;
    struct graph *graph = nodes_mi250x();
    struct values *values = values_new();
    place_id gpu = nodes_place(graph, PLACE_GPU, 0);
    for (int n = 0; n < 4; n++) /* structure says numa3; numa1 measures better by more than noise */
        nodes_value(values, METRIC_HOST_GPU_COPY_ENGINE, VALUE_MEASURED,
                    nodes_place(graph, PLACE_NUMA, n), gpu, "", n == 1 ? 36e9 : 28e9, NAN, NAN);
    for (int n = 0; n < 4; n++) /* within noise: structure */
        nodes_value(values, METRIC_HOST_GPU_COPY_ENGINE, VALUE_MEASURED,
                    nodes_place(graph, PLACE_NUMA, n), nodes_place(graph, PLACE_GPU, 2), "",
                    n == 0 ? 28.5e9 : 28e9, NAN, NAN);
    struct fixture f = begin(graph, values);
    allow_only(&f, &f.allowed.gpus, PLACE_GPU, 0);
    assert_int_equal(ask(&f, (struct bind_request){.tasks = 1,
                                                   .gpus_per_task = 1,
                                                   .cores_per_task = 8,
                                                   .threads_per_core = 1}),
                     BERTH_OK);
    assert_cpus(&f, 0, "16-23");
    assert_int_equal(f.answer.evidence.count, 1);
    f.allowed.gpus[nodes_place(f.snap->graph, PLACE_GPU, 0)] = false;
    allow_only(&f, &f.allowed.gpus, PLACE_GPU, 2);
    assert_int_equal(ask(&f, (struct bind_request){.tasks = 1,
                                                   .gpus_per_task = 1,
                                                   .cores_per_task = 8,
                                                   .threads_per_core = 1}),
                     BERTH_OK);
    assert_cpus(&f, 0, "16-23");
    end(&f);
}

static void without_gpus_tasks_spread_over_llcs(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_cpu(&(struct shape){2, 2, 2, 4, 1, INT64_C(64) << 30}), NULL);
    assert_int_equal(
        ask(&f, (struct bind_request){.tasks = 4, .gpus_per_task = -1, .cores_per_task = 4}),
        BERTH_OK);
    assert_int_equal(f.answer.gpus_per_task, 0);
    for (size_t t = 0; t < 4; t++)
        assert_int_equal(memory_of(&f, t), (int)t);
    assert_cpus(&f, 1, "8-11");
    assert_int_equal(f.answer.warnings.count, 0);

    assert_int_equal(
        ask(&f, (struct bind_request){.tasks = 8, .gpus_per_task = 0, .cores_per_task = 3}),
        BERTH_OK);
    assert_cpus(&f, 0, "0-2");
    assert_cpus(&f, 1, "4-6");
    assert_cpus(&f, 7, "28-30");
    end(&f);
}

static void what_does_not_fit_is_counted(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_mi250x(), NULL);
    assert_int_equal(ask(&f, (struct bind_request){.tasks = 9, .gpus_per_task = 1}),
                     BERTH_NOT_ENOUGH);
    assert_string_equal(f.err.arg[0].text, "gpus");
    assert_int_equal(f.err.arg[1].number, 9);
    assert_int_equal(f.err.arg[2].number, 8);
    assert_int_equal(
        ask(&f, (struct bind_request){.tasks = 8, .gpus_per_task = 0, .cores_per_task = 9}),
        BERTH_NOT_ENOUGH);
    assert_string_equal(f.err.arg[0].text, "cores");
    assert_int_equal(f.err.arg[1].number, 72);
    assert_int_equal(f.err.arg[2].number, 64);
    assert_int_equal(ask(&f, (struct bind_request){.tasks = 65, .gpus_per_task = 0}),
                     BERTH_NOT_ENOUGH);
    assert_int_equal(ask(&f, (struct bind_request){.tasks = BIND_TASKS_MAX,
                                                   .gpus_per_task = 0,
                                                   .cores_per_task = INT64_MAX}),
                     BERTH_NOT_ENOUGH);
    assert_int_equal(ask(&f, (struct bind_request){.tasks = 2, .gpus_per_task = INT64_MAX}),
                     BERTH_NOT_ENOUGH);
    assert_int_equal(
        ask(&f, (struct bind_request){.tasks = 1, .gpus_per_task = 0, .threads_per_core = 3}),
        BERTH_NOT_ENOUGH);
    assert_string_equal(f.err.arg[0].text, "threads of a core");
    assert_int_equal(f.err.arg[2].number, 2);
    assert_int_equal(ask(&f, (struct bind_request){.tasks = 0}), BERTH_INVALID_PARAMETER);
    assert_string_equal(f.err.arg[0].text, "tasks");
    assert_int_equal(ask(&f, (struct bind_request){.tasks = BIND_TASKS_MAX + 1}),
                     BERTH_INVALID_PARAMETER);
    allow_cpus(&f, "");
    assert_int_equal(ask(&f, (struct bind_request){.tasks = 1, .gpus_per_task = -1}),
                     BERTH_NOTHING_ALLOWED);
    end(&f);
}

static void a_node_whose_cores_nobody_knows(void **state)
{
    (void)state;
    struct graph *graph = graph_new();
    nodes_add(graph, PLACE_MACHINE, 0, PLACE_NONE, PLACE_NONE, NULL);
    nodes_add(graph, PLACE_GPU, 0, 0, PLACE_NONE, NULL);
    struct fixture f = begin(graph, NULL);
    assert_int_equal(ask(&f, (struct bind_request){.tasks = 1, .gpus_per_task = -1}),
                     BERTH_UNAVAILABLE);
    end(&f);
}

static void only_the_single_choice_is_proven(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_mi250x(), NULL);
    allow_only(&f, &f.allowed.gpus, PLACE_GPU, 3);
    allow_cpus(&f, "24-31,88-95");
    assert_int_equal(ask(&f, (struct bind_request){.tasks = 1, .gpus_per_task = -1}), BERTH_OK);
    assert_true(f.answer.is_proven);
    assert_int_equal(
        ask(&f, (struct bind_request){.tasks = 1, .gpus_per_task = -1, .cores_per_task = 7}),
        BERTH_OK);
    assert_false(f.answer.is_proven);
    end(&f);
}

static void memory_that_is_not_allowed_is_not_given(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_mi250x(), NULL);
    allow_only(&f, &f.allowed.memory, PLACE_NUMA, 2);
    allow_only(&f, &f.allowed.gpus, PLACE_GPU, 0);
    assert_int_equal(ask(&f, (struct bind_request){.tasks = 1, .gpus_per_task = 1}), BERTH_OK);
    assert_int_equal(memory_of(&f, 0), 2);
    assert_true(reason_with(&f.answer.warnings, REASON_MEMORY_ELSEWHERE) != NULL);
    f.allowed.memory[nodes_place(f.snap->graph, PLACE_NUMA, 2)] = false;
    assert_int_equal(ask(&f, (struct bind_request){.tasks = 1, .gpus_per_task = 1}), BERTH_OK);
    assert_int_equal(f.answer.task[0].memory, PLACE_NONE);
    end(&f);
}

/* A small generator of our own, so that a failure can be repeated. */
static uint32_t random_next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

static struct graph *random_node(uint64_t *seed)
{
    if (random_next(seed) % 4 == 0)
        return nodes_mi250x();
    struct shape shape = {1 + (int)(random_next(seed) % 2), 1 + (int)(random_next(seed) % 3),
                          1 + (int)(random_next(seed) % 3), 1 + (int)(random_next(seed) % 5),
                          1 + (int)(random_next(seed) % 2), INT64_C(1) << 34};
    struct graph *graph = nodes_cpu(&shape);
    int gpus = (int)(random_next(seed) % 5);
    for (int g = 0; g < gpus; g++) {
        size_t numas = graph_count(graph, PLACE_NUMA);
        place_id numa = nodes_place(graph, PLACE_NUMA, (int)(random_next(seed) % numas));
        nodes_add(graph, PLACE_GPU, g, random_next(seed) % 2 == 0 ? numa : 0,
                  random_next(seed) % 4 == 0 ? PLACE_NONE : numa, NULL);
    }
    return graph;
}

static bool is_split(const struct graph *graph, const struct bind_answer *answer, place_id core)
{
    unsigned tasks = 0;
    for (size_t t = 0; t < answer->task_count; t++)
        tasks += cpuset_intersects(&answer->task[t].cpus, graph_place(graph, core)->cpus);
    return tasks > 1;
}

static void assert_valid(const struct fixture *f, const struct bind_request *request)
{
    const struct graph *graph = f->snap->graph;
    struct cpuset seen = {0};
    assert_int_equal(f->answer.task_count, request->tasks);
    for (size_t t = 0; t < f->answer.task_count; t++) {
        const struct bind_task *task = &f->answer.task[t];
        unsigned cores = 0;
        assert_true(cpuset_contains(&f->allowed.cpus, &task->cpus));
        assert_false(cpuset_intersects(&seen, &task->cpus));
        cpuset_or(&seen, &task->cpus);
        for (place_id c = graph_next(graph, PLACE_CORE, 0); c != PLACE_NONE;
             c = graph_next(graph, PLACE_CORE, c + 1)) {
            struct cpuset use = *graph_place(graph, c)->cpus;
            cpuset_and(&use, &task->cpus);
            cores += !cpuset_is_empty(&use);
            assert_true(cpuset_is_empty(&use) || request->threads_per_core == 0 ||
                        cpuset_count(&use) == (size_t)request->threads_per_core);
            assert_false(is_split(graph, &f->answer, c));
        }
        assert_int_equal(cores, f->answer.cores_per_task);
        for (int64_t g = 0; g < f->answer.gpus_per_task; g++) {
            assert_true(allowed_has_gpu(&f->allowed, task->gpus[g]));
            for (int64_t other = (int64_t)t * f->answer.gpus_per_task + g - 1; other >= 0; other--)
                assert_int_not_equal(f->answer.gpu[other], task->gpus[g]);
            if (request->in_rank_order && (t > 0 || g > 0))
                assert_true(graph_place(graph, task->gpus[g])->number >
                            graph_place(graph, *(task->gpus + g - 1))->number);
        }
        assert_true(task->memory == PLACE_NONE || allowed_has_memory(&f->allowed, task->memory));
    }
}

static void any_allowed_part_gives_valid_berths(void **state)
{
    (void)state;
    uint64_t seed = 42;
    unsigned answered = 0;
    for (int round = 0; round < 400; round++) {
        struct fixture f = begin(random_node(&seed), NULL);
        for (int c = cpuset_next(&f.allowed.cpus, 0); c >= 0;
             c = cpuset_next(&f.allowed.cpus, (unsigned)c + 1))
            if (random_next(&seed) % 3 == 0)
                cpuset_remove(&f.allowed.cpus, (unsigned)c);
        f.allowed.gpus = calloc(f.snap->graph->place_count, sizeof *f.allowed.gpus);
        f.allowed.memory = calloc(f.snap->graph->place_count, sizeof *f.allowed.memory);
        for (size_t p = 0; p < f.snap->graph->place_count; p++) {
            f.allowed.gpus[p] = random_next(&seed) % 3 != 0;
            f.allowed.memory[p] = random_next(&seed) % 3 != 0;
        }
        struct bind_request request = {.tasks = 1 + random_next(&seed) % 6,
                                       .gpus_per_task = (int64_t)(random_next(&seed) % 4) - 1,
                                       .cores_per_task = random_next(&seed) % 5,
                                       .threads_per_core = random_next(&seed) % 3,
                                       .in_rank_order = random_next(&seed) % 2};
        enum berth_code code = ask(&f, request);
        if (code == BERTH_OK) {
            answered++;
            assert_valid(&f, &request);
            /* the same question, the same answer */
            struct bind_answer first = f.answer;
            f.answer = (struct bind_answer){0};
            assert_int_equal(ask(&f, request), BERTH_OK);
            for (size_t t = 0; t < first.task_count; t++)
                assert_true(cpuset_equal(&first.task[t].cpus, &f.answer.task[t].cpus));
            plan_bind_done(&first);
            /* fewer tasks of the same size fit as well */
            if (request.tasks > 1) {
                request.tasks--;
                request.cores_per_task = f.answer.cores_per_task;
                assert_int_equal(ask(&f, request), BERTH_OK);
                assert_valid(&f, &request);
            }
        } else {
            assert_true(code == BERTH_NOT_ENOUGH || code == BERTH_NOTHING_ALLOWED);
        }
        end(&f);
    }
    assert_true(answered > 100);
}

/* The same node with its gpus numbered the other way round: every task still gets the CCX of its
 * gpu. */
static void other_names_change_nothing(void **state)
{
    (void)state;
    struct graph *graph = nodes_mi250x();
    for (size_t p = 0; p < graph->place_count; p++)
        if (graph->places[p].kind == PLACE_GPU) {
            graph->places[p].number = 7 - graph->places[p].number;
            snprintf(graph->places[p].name, sizeof graph->places[p].name, "gpu%d",
                     graph->places[p].number);
        }
    struct fixture f = begin(graph, NULL);
    for (int64_t tasks = 1; tasks <= 8; tasks++) {
        assert_int_equal(
            ask(&f, (struct bind_request){.tasks = tasks, .gpus_per_task = 1, .cores_per_task = 8}),
            BERTH_OK);
        unsigned modules = 0;
        for (size_t t = 0; t < f.answer.task_count; t++) {
            const struct place *gpu = graph_place(f.snap->graph, f.answer.task[t].gpus[0]);
            assert_true(cpuset_equal(&f.answer.task[t].cpus, gpu->cpus));
            bool is_new = true;
            for (size_t u = 0; u < t; u++)
                is_new = is_new && graph_place(f.snap->graph, f.answer.task[u].gpus[0])->parent !=
                                       gpu->parent;
            modules += is_new;
        }
        assert_int_equal(modules, tasks < 4 ? tasks : 4);
    }
    end(&f);
}

/* Latency from llc0 to the other NUMA node, its own being 140 ns; where a task on llc0 gets its
 * memory then. */
static int memory_by_latency(double low, double value, double high)
{
    const struct shape shape = {.packages = 1,
                                .numas = 2,
                                .llcs = 1,
                                .cores = 4,
                                .threads = 1,
                                .numa_bytes = INT64_C(64) << 30};
    struct graph *graph = nodes_cpu(&shape);
    struct values *values = values_new();
    assert_non_null(values);
    place_id llc = nodes_place(graph, PLACE_LLC, 0), near = nodes_place(graph, PLACE_NUMA, 0),
             far = nodes_place(graph, PLACE_NUMA, 1);
    nodes_value(values, METRIC_MEMORY_LATENCY, VALUE_MEASURED, llc, near, "", 140, 138, 142);
    nodes_value(values, METRIC_MEMORY_LATENCY, VALUE_MEASURED, llc, far, "", value, low, high);
    struct fixture f = begin(graph, values);
    allow_cpus(&f, "0-3");
    assert_int_equal(ask(&f, (struct bind_request){.tasks = 1, .gpus_per_task = 0}), BERTH_OK);
    int memory = memory_of(&f, 0);
    assert_int_equal(f.answer.evidence.count, 1);
    assert_true(f.answer.evidence.item[0]->value == (memory == 0 ? 140 : value));
    assert_int_equal(reason_with(&f.answer.warnings, REASON_MEMORY_ELSEWHERE) != NULL, memory == 1);
    end(&f);
    return memory;
}

static void memory_is_chosen_and_justified_by_measured_latency(void **state)
{
    (void)state;
    assert_int_equal(memory_by_latency(210, 220, 230), 0);
    /* the intervals meet: structure decides */
    assert_int_equal(memory_by_latency(130, 137, 139), 0);
    assert_int_equal(memory_by_latency(88, 90, 92), 1);
}

/* Sub-NUMA clustering: one llc around four NUMA nodes of four cores; gpu0 on numa3, gpu1 on numa1.
 */
static struct graph *clustered(void)
{
    struct graph *graph = graph_new();
    assert_non_null(graph);
    graph->name = strdup("clustered");
    nodes_add(graph, PLACE_MACHINE, 0, PLACE_NONE, PLACE_NONE, NULL);
    struct cpuset all = {0}, part[4] = {0};
    for (unsigned c = 0; c < 16; cpuset_add(&all, c), c++)
        cpuset_add(&part[c / 4], c);
    place_id package = nodes_add(graph, PLACE_PACKAGE, 0, 0, PLACE_NONE, &all), numa[4];
    for (int n = 0; n < 4; n++) {
        numa[n] = nodes_add(graph, PLACE_NUMA, n, package, PLACE_NONE, &part[n]);
        graph->places[numa[n]].capacity_bytes = INT64_C(64) << 30;
    }
    place_id llc = nodes_add(graph, PLACE_LLC, 0, package, PLACE_NONE, &all);
    for (unsigned c = 0; c < 16; c++) {
        struct cpuset one = {0};
        cpuset_add(&one, c);
        place_id core = nodes_add(graph, PLACE_CORE, (int)c, llc, numa[c / 4], &one);
        nodes_add(graph, PLACE_PU, (int)c, core, numa[c / 4], &one);
    }
    nodes_add(graph, PLACE_GPU, 0, numa[3], numa[3], &part[3]);
    nodes_add(graph, PLACE_GPU, 1, numa[1], numa[1], &part[1]);
    return graph;
}

static void an_llc_around_numa_nodes_does_not_hide_them(void **state)
{
    (void)state;
    struct fixture f = begin(clustered(), NULL);
    for (int64_t cores = 0; cores <= 4; cores += 4) {
        assert_int_equal(
            ask(&f, (struct bind_request){.tasks = 2, .gpus_per_task = 1, .cores_per_task = cores}),
            BERTH_OK);
        assert_int_equal(f.answer.cores_per_task, 4);
        assert_cpus(&f, 0, "12-15");
        assert_cpus(&f, 1, "4-7");
        assert_int_equal(memory_of(&f, 0), 3);
        assert_int_equal(memory_of(&f, 1), 1);
        assert_null(reason_with(&f.answer.warnings, REASON_CORES_AWAY));
    }
    assert_int_equal(
        ask(&f, (struct bind_request){.tasks = 2, .gpus_per_task = 1, .cores_per_task = 6}),
        BERTH_OK);
    assert_int_equal(subjects_of(&f.answer.warnings, REASON_CORES_AWAY), 2);
    assert_true(reason_with(&f.answer.warnings, REASON_CORES_AWAY)->number[0] == 4);
    assert_int_equal(ask(&f, (struct bind_request){.tasks = 2, .cores_per_task = 8}), BERTH_OK);
    assert_true(reason_with(&f.answer.warnings, REASON_CORES_IN_NUMAS) != NULL);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frontier_with_reserved_cores),
        cmocka_unit_test(each_gcd_gets_its_own_ccx),
        cmocka_unit_test(fewer_tasks_stand_on_different_modules),
        cmocka_unit_test(the_gpus_of_a_task_stand_on_one_module),
        cmocka_unit_test(a_task_straddles_llcs_only_when_it_must),
        cmocka_unit_test(an_llc_around_numa_nodes_does_not_hide_them),
        cmocka_unit_test(measured_rates_go_before_structure),
        cmocka_unit_test(without_gpus_tasks_spread_over_llcs),
        cmocka_unit_test(what_does_not_fit_is_counted),
        cmocka_unit_test(a_node_whose_cores_nobody_knows),
        cmocka_unit_test(only_the_single_choice_is_proven),
        cmocka_unit_test(memory_that_is_not_allowed_is_not_given),
        cmocka_unit_test(memory_is_chosen_and_justified_by_measured_latency),
        cmocka_unit_test(any_allowed_part_gives_valid_berths),
        cmocka_unit_test(other_names_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
