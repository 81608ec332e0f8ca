/* A link with a quarter of its stated rate, among others with all of it. */
#include "unit/node/built_nodes.h"

#include "cost/limits.h"
#include "discover/discover.h"

#define GB 1e9

/* What the link between gpu0 and gpu1 carries in each direction, once kernels got share of what
 * links are said to carry, and narrow of that one; 0: nobody measured it. by: their metric. */
static double width_of(enum metric by, enum value_source source, double share, double narrow)
{
    struct discovery found = {0};
    struct berth_err err = {0};
    struct values *values = values_new();
    assert_int_equal(discover_folder("tests/nodes/mi250x", &found, &err), BERTH_OK);
    const struct graph *graph = found.graph;
    place_id gpu0 = nodes_place(graph, PLACE_GPU, 0), gpu1 = nodes_place(graph, PLACE_GPU, 1);
    double width[2] = {0};
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        if (graph_place(graph, link->from)->kind != PLACE_GPU ||
            graph_place(graph, link->to)->kind != PLACE_GPU)
            continue;
        bool is_it = link->from == gpu0 && link->to == gpu1;
        double rate = link->nominal_bytes_per_s * (is_it ? narrow : share);
        if (rate > 0) {
            nodes_value(values, by, source, link->from, link->to, "", rate, rate, rate);
            nodes_value(values, by, source, link->to, link->from, "", rate, rate, rate);
        }
    }
    /* Over that link and two more: it says nothing of one. */
    nodes_value(values, by, source, gpu1, nodes_place(graph, PLACE_GPU, 7), "", GB, GB, GB);
    values_finish(values);
    struct limits *limits = limits_new(graph, NULL, values);
    assert_non_null(limits);
    for (size_t i = 0; i < limits->count; i++) {
        const struct limit *item = &limits->item[i];
        bool is_lowered = item->source == LIMIT_OTHER_RUNS;
        int way = strcmp(item->name, "gpu0-gpu1:link:out") == 0  ? 0
                  : strcmp(item->name, "gpu0-gpu1:link:in") == 0 ? 1
                                                                 : -1;
        if (way >= 0)
            width[way] = item->step[0].bytes_per_s;
        else if (strstr(item->name, ":link:") != NULL)
            assert_false(is_lowered);
        if (way >= 0)
            assert_int_equal(is_lowered, item->step[0].bytes_per_s < 200 * GB);
    }
    assert_near(width[0], width[1]);
    limits_free(limits);
    values_free(values);
    discovery_done(&found);
    return width[0];
}

static void it_counts_with_what_kernels_get_that_share_of(void **state)
{
    (void)state;
    assert_near(width_of(METRIC_GPU_GPU_KERNEL, VALUE_MEASURED, 0.87, 0.87 / 4), 50 * GB);
    assert_near(width_of(METRIC_GPU_GPU_KERNEL, VALUE_MEASURED, 0.6, 0.6 / 4), 50 * GB);
}

/* A little less may be the kernel's; an engine has a rate of its own; what is only published says
 * nothing of this node; and nothing is nothing. */
static void others_count_as_they_are_said_to(void **state)
{
    (void)state;
    assert_near(width_of(METRIC_GPU_GPU_KERNEL, VALUE_MEASURED, 0.87, 0.6), 200 * GB);
    assert_near(width_of(METRIC_GPU_GPU_COPY_ENGINE, VALUE_MEASURED, 0.87, 0.2), 200 * GB);
    assert_near(width_of(METRIC_GPU_GPU_KERNEL, VALUE_PUBLISHED, 0.87, 0.2), 200 * GB);
    assert_near(width_of(METRIC_GPU_GPU_KERNEL, VALUE_MEASURED, 0.87, 0), 200 * GB);
    assert_near(width_of(METRIC_GPU_GPU_KERNEL, VALUE_MEASURED, 0, 0.2), 200 * GB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_counts_with_what_kernels_get_that_share_of),
        cmocka_unit_test(others_count_as_they_are_said_to)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
