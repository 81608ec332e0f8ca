/* Every allocation of a map fails once: there is an error or a map, never a crash, and nothing
 * stays behind. */
#include "fault_answer.h"
#include "plan/map/map.h"

enum { MACHINE, NUMA, GPU0, GPU1, PLACES };

static struct snapshot *make_snapshot(const void *question)
{
    (void)question;
    struct graph *graph = graph_new();
    struct values *values = values_new();
    graph_add_place(graph, PLACE_MACHINE, 0);
    graph_add_place(graph, PLACE_NUMA, 0);
    for (int i = 0; i < 2; i++)
        graph_add_place(graph, PLACE_GPU, i);
    for (int i = NUMA; i < PLACES; i++)
        graph->places[i].parent = 0;
    fault_value(values, METRIC_GPU_GPU_COPY_ENGINE, GPU0, GPU1, "bytes=65536", 20);
    fault_value(values, METRIC_GPU_GPU_COPY_ENGINE, GPU0, GPU1, "", 50);
    fault_value(values, METRIC_HOST_GPU_COPY_ENGINE, GPU0, NUMA, "", 20);
    return fault_snapshot(graph, values, NULL);
}

static enum berth_code ask(struct snapshot *snap, const void *question, struct berth_err *err)
{
    (void)question;
    char *data = NULL;
    size_t size = 0;
    enum berth_code code = plan_map(snap, &data, &size, err);
    if (code == BERTH_OK)
        assert_true(data != NULL && size > 0);
    free(data);
    return code;
}

static void maps_survive(void **state)
{
    (void)state;
    fault_each_place(make_snapshot, ask, NULL, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(maps_survive)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
