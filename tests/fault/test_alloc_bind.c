/* Every allocation of a plan for traffic fails once: there is an error or an answer, never a crash,
 * and nothing stays behind. */
#include "fault_answer.h"
#include "node/allowed.h"
#include "node/locality.h"
#include "plan/bind/bind.h"

#define CORES    12
#define GPUS_MAX 9

static place_id add(struct graph *graph, enum place_kind kind, int number, place_id parent,
                    place_id numa, unsigned cpu, unsigned cpus)
{
    place_id id = graph_add_place(graph, kind, number);
    struct cpuset set = {0};
    for (unsigned c = cpu; c < cpu + cpus; c++)
        cpuset_add(&set, c);
    graph->places[id].parent = parent;
    graph->places[id].numa = numa;
    graph->places[id].capacity_bytes = kind == PLACE_NUMA ? INT64_C(1) << 36 : -1;
    if (cpus > 0)
        assert_true(place_set_cpus(&graph->places[id], &set));
    return id;
}

/* Gpus and a nic at one NUMA node, all measured, two of them together. question: how many gpus. */
static struct snapshot *make_snapshot(const void *question)
{
    int gpus = *(const int *)question;
    struct graph *graph = graph_new();
    struct values *values = values_new();
    struct sets *sets = sets_new();
    place_id gpu[GPUS_MAX];
    place_id machine = add(graph, PLACE_MACHINE, 0, PLACE_NONE, PLACE_NONE, 0, 0),
             numa = add(graph, PLACE_NUMA, 0, machine, PLACE_NONE, 0, CORES);
    for (int c = 0; c < CORES; c++)
        add(graph, PLACE_CORE, c, numa, numa, (unsigned)c, 1);
    add(graph, PLACE_NIC, 0, numa, numa, 0, CORES);
    for (int g = 0; g < gpus; g++)
        gpu[g] = add(graph, PLACE_GPU, g, numa, numa, 0, CORES);
    for (int a = 0; a < gpus; a++) {
        for (int b = 0; b < gpus; b++) {
            struct value v = {.metric = METRIC_GPU_GPU_COPY_ENGINE,
                              .source = VALUE_MEASURED,
                              .from = gpu[a],
                              .to = gpu[b],
                              .n = 9,
                              .value = (10 + (a * 7 + b) % 5) * GB,
                              .low = 9 * GB,
                              .high = 15 * GB};
            assert_true(a == b || values_add(values, &v, "", NULL));
        }
        struct value v = {.metric = METRIC_HOST_GPU_COPY_ENGINE,
                          .source = VALUE_MEASURED,
                          .from = gpu[a],
                          .to = numa,
                          .n = 9,
                          .value = 20 * GB,
                          .low = 19 * GB,
                          .high = 21 * GB};
        assert_true(values_add(values, &v, "", NULL));
        v.from = numa;
        v.to = gpu[a];
        assert_true(values_add(values, &v, "", NULL));
        struct set_flow flow = {.from = gpu[a],
                                .to = numa,
                                .axes = (char *)"",
                                .bytes_per_s = 20 * GB,
                                .low = 19 * GB,
                                .high = 21 * GB};
        assert_true(sets_add(sets, &(struct set){.metric = METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT,
                                                 .flow = &flow,
                                                 .flow_count = 1}));
    }
    return fault_snapshot(graph, values, sets);
}

/* gpus: of a task; they are different ones. */
static enum berth_code plan(struct snapshot *snap, const struct traffic_request *wanted,
                            int64_t gpus, struct berth_err *err)
{
    struct allowed allowed = {.given = true};
    struct traffic traffic;
    struct bind_answer answer;
    locality_cpus(snap->graph, &allowed.cpus);
    enum berth_code code = plan_traffic(wanted, &traffic, err);
    if (code != BERTH_OK)
        return code;
    struct bind_request request = {
        .tasks = wanted->tasks, .gpus_per_task = gpus, .allowed = &allowed, .traffic = &traffic};
    code = plan_bind(snap, &request, &answer, err);
    plan_traffic_done(&traffic);
    if (code == BERTH_OK) {
        assert_int_equal(answer.task_count, wanted->tasks);
        assert_true(gpus == 0 || answer.gpu[0] != answer.gpu[1]);
        plan_bind_done(&answer);
    }
    return code;
}

static enum berth_code ask(struct snapshot *snap, const void *question, struct berth_err *err)
{
    (void)question;
    const struct traffic_request wanted = {
        .tasks = 3, .world = 4, .pattern = TRAFFIC_RING, .bytes = 1 << 24, .host_bytes = 1 << 24};
    return plan(snap, &wanted, 1, err);
}

/* Tasks without gpus, of which some pairs were measured. */
static struct snapshot *make_cores(const void *question)
{
    (void)question;
    struct graph *graph = graph_new();
    struct values *values = values_new();
    place_id core[CORES];
    place_id machine = add(graph, PLACE_MACHINE, 0, PLACE_NONE, PLACE_NONE, 0, 0),
             numa = add(graph, PLACE_NUMA, 0, machine, PLACE_NONE, 0, CORES);
    for (int c = 0; c < CORES; c++)
        core[c] = add(graph, PLACE_CORE, c, numa, numa, (unsigned)c, 1);
    struct value v = {.metric = METRIC_CPU_PINGPONG,
                      .source = VALUE_MEASURED,
                      .from = core[0],
                      .to = core[1],
                      .n = 9,
                      .value = 100,
                      .low = 99,
                      .high = 101};
    assert_true(values_add(values, &v, "", NULL));
    return fault_snapshot(graph, values, sets_new());
}

static enum berth_code ask_cores(struct snapshot *snap, const void *question, struct berth_err *err)
{
    (void)question;
    const struct traffic_request wanted = {
        .tasks = 4, .pattern = TRAFFIC_RING, .bytes = 1 << 20, .host_bytes = 1 << 20};
    return plan(snap, &wanted, 0, err);
}

static void plans_without_gpus_survive(void **state)
{
    (void)state;
    fault_each_place(make_cores, ask_cores, NULL, 10);
}

static void plans_survive(void **state)
{
    (void)state;
    const int few = 4, many = GPUS_MAX; /* more than are searched exactly */
    fault_each_place(make_snapshot, ask, &few, 30);
    fault_each_place(make_snapshot, ask, &many, 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(plans_survive),
                                       cmocka_unit_test(plans_without_gpus_survive)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
