/* Every allocation of a route fails once: there is an error or an answer, never a crash, and
 * nothing stays behind. */
#include "fault_answer.h"
#include "plan/route/route.h"

enum { MACHINE, NUMA, GPU0, GPU1, GPU2, PLACES };

static struct graph *make_graph(void)
{
    struct graph *graph = graph_new();
    graph_add_place(graph, PLACE_MACHINE, 0);
    graph_add_place(graph, PLACE_NUMA, 0);
    for (int i = 0; i < 3; i++)
        graph_add_place(graph, PLACE_GPU, i);
    for (int i = NUMA; i < PLACES; i++)
        graph->places[i].parent = 0;
    graph_add_link(graph, GPU0, GPU2, LINK_NVLINK)->nominal_bytes_per_s = 100 * GB;
    return graph;
}

static struct snapshot *make_snapshot(const void *question)
{
    (void)question;
    struct graph *graph = make_graph();
    struct values *values = values_new();
    struct sets *sets = sets_new();
    static const char *const sizes[] = {"bytes=4096", "bytes=65536", "bytes=1048576",
                                        "bytes=16777216", ""};
    for (int i = 0; i < 5; i++)
        fault_value(values, METRIC_GPU_GPU_COPY_ENGINE, GPU0, GPU1, sizes[i], 10 + 10 * i);
    fault_value(values, METRIC_HOST_GPU_COPY_ENGINE, GPU0, NUMA, "", 20);
    fault_value(values, METRIC_HOST_GPU_COPY_ENGINE, NUMA, GPU1, "", 20);
    for (place_id gpu = GPU0; gpu <= GPU1; gpu++) {
        struct set_flow flow = {.from = gpu,
                                .to = NUMA,
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

/* question: where to. */
static enum berth_code ask(struct snapshot *snap, const void *question, struct berth_err *err)
{
    place_id to = *(const place_id *)question;
    const struct allowed allowed = {.given = true};
    const struct route_transfer concurrent[] = {{GPU0, NUMA, 1 << 30}};
    const struct route_request request = {.from = GPU0,
                                          .to = to,
                                          .bytes = 1 << 30,
                                          .concurrent = concurrent,
                                          .concurrent_count = 1,
                                          .allowed = &allowed};
    struct route_answer answer;
    enum berth_code code = plan_route(snap, &request, &answer, err);
    if (code == BERTH_OK) {
        assert_true(answer.count > 0 && answer.option[0].predicted.time_ns > 0);
        plan_route_done(&answer);
    }
    return code;
}

static void routes_survive(void **state)
{
    (void)state;
    const place_id measured = GPU1, linked = GPU2; /* by what the link is said to carry */
    fault_each_place(make_snapshot, ask, &measured, 5);
    fault_each_place(make_snapshot, ask, &linked, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(routes_survive)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
