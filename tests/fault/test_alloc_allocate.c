/* Every allocation of an answer of Allocate fails once: there is an error or an answer, never a
 * crash, and nothing stays behind. */
#include "fault_answer.h"
#include "plan/alloc/alloc.h"

enum { MACHINE, NUMA0, NUMA1, CORE0, CORE1, GPU0, GPU1, PLACES };

static void add_core(struct graph *graph, place_id numa, unsigned cpu)
{
    struct cpuset cpus = {0};
    cpuset_add(&cpus, cpu);
    place_id core = graph_add_place(graph, PLACE_CORE, (int32_t)cpu);
    graph->places[core].parent = graph->places[core].numa = numa;
    assert_true(place_set_cpus(&graph->places[core], &cpus) &&
                place_set_cpus(&graph->places[numa], &cpus));
}

static struct graph *make_graph(void)
{
    struct graph *graph = graph_new();
    graph_add_place(graph, PLACE_MACHINE, 0);
    for (int i = 0; i < 2; i++) {
        place_id numa = graph_add_place(graph, PLACE_NUMA, i);
        graph->places[numa].parent = MACHINE;
        graph->places[numa].capacity_bytes = INT64_C(64) << 30;
    }
    add_core(graph, NUMA0, 0);
    add_core(graph, NUMA1, 1);
    for (int i = 0; i < 2; i++) {
        place_id gpu = graph_add_place(graph, PLACE_GPU, i);
        graph->places[gpu].parent = graph->places[gpu].numa = NUMA0;
        graph->places[gpu].capacity_bytes = -1;
    }
    graph_add_link(graph, GPU0, GPU1, LINK_NVLINK)->nominal_bytes_per_s = 100 * GB;
    return graph;
}

static struct snapshot *make_snapshot(const void *question)
{
    (void)question;
    struct graph *graph = make_graph();
    struct values *values = values_new();
    static const char *const sizes[] = {"bytes=4096;operation=read", "bytes=65536;operation=read",
                                        "bytes=1048576;operation=read", "operation=read"};
    for (int i = 0; i < 4; i++)
        fault_value(values, METRIC_HOST_GPU_KERNEL, NUMA0, GPU0, sizes[i], 10 + 10 * i);
    fault_value(values, METRIC_MEMORY_BANDWIDTH, GPU0, GPU0, "", 4000);
    fault_value(values, METRIC_MEMORY_BANDWIDTH, NUMA0, NUMA0, "", 100);
    fault_value(values, METRIC_ALLOCATION, GPU0, NUMA0, "kind=pinned", 4);
    return fault_snapshot(graph, values, NULL);
}

struct question {
    const struct alloc_access *access;
    size_t count;
    int64_t bytes;
    double expected_ns; /* the sum over all options with all the memory there is */
};

static enum berth_code answer_to(struct snapshot *snap, const struct question *question,
                                 double *ret_sum_ns, struct berth_err *err)
{
    struct allowed allowed = {.given = true};
    cpuset_add(&allowed.cpus, 0);
    const struct alloc_request request = {.bytes = question->bytes,
                                          .access = question->access,
                                          .access_count = question->count,
                                          .allowed = &allowed};
    struct alloc_answer answer;
    enum berth_code code = plan_alloc(snap, &request, &answer, err);
    if (code != BERTH_OK)
        return code;
    *ret_sum_ns = 0;
    for (size_t i = 0; i < answer.count; i++)
        *ret_sum_ns +=
            answer.option[i].predicted.time_ns > 0 ? answer.option[i].predicted.time_ns : 0;
    plan_alloc_done(&answer);
    return code;
}

/* What cannot be looked up is not taken for what was not measured: the options have the same
 * numbers. */
static enum berth_code ask(struct snapshot *snap, const void *question, struct berth_err *err)
{
    double sum_ns = 0;
    enum berth_code code = answer_to(snap, question, &sum_ns, err);
    if (code == BERTH_OK && sum_ns != ((const struct question *)question)->expected_ns)
        fail_msg("%g ns instead of %g", sum_ns, ((const struct question *)question)->expected_ns);
    return code;
}

static void each_place_of(struct question question, int least)
{
    struct berth_err err = {0};
    struct snapshot *snap = make_snapshot(NULL);
    assert_true(derive_costs(snap));
    assert_int_equal(answer_to(snap, &question, &question.expected_ns, &err), BERTH_OK);
    snapshot_unref(snap);
    fault_each_place(make_snapshot, ask, &question, least);
}

static void answers_survive(void **state)
{
    (void)state;
    const struct alloc_access by_gpu = {.by = GPU0, .reads_bytes = 65536};
    const struct alloc_access by_both[] = {{.by = GPU0, .reads_bytes = 1 << 30},
                                           {.by = NUMA0, .reads_bytes = 1 << 30}};
    each_place_of((struct question){.bytes = 1 << 30}, 4);
    each_place_of((struct question){.access = &by_gpu, .count = 1, .bytes = 65536}, 6);
    each_place_of((struct question){.access = by_both, .count = 2, .bytes = 1 << 30}, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers_survive)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
