/* Shared limits on recorded machines: host copies of two and four H200 match their measurements. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cost/limits.h"
#include "discover/discover.h"
#include "limits_found.h"

/* Pairs 110.7 GB/s into the host's memory, as much as alone; three 157, four 164.5; out of it four
 * get 220.5 and lose nothing. */
static void recorded_h200_host_copies(void **state)
{
    (void)state;
    struct discovery node = {0};
    struct berth_err err = {0};
    assert_int_equal(discover_folder("tests/nodes/h200x4-hand", &node, &err), BERTH_OK);
    struct limits *limits = limits_new(node.graph, node.sets, node.values);
    assert_non_null(limits);
    assert_all_reproduced(limits, node.sets);
    assert_int_equal(found_count(limits), 1);
    const struct limit *memory = found(limits, "numa0:memory:write");
    assert_int_equal(memory->user_count, 4);
    assert_int_equal(memory->step_count, 2);
    assert_int_equal(memory->step[0].flows, 3);
    assert_float_equal(memory->step[0].bytes_per_s, 157.35 * GB, 0.3 * GB);
    assert_true(memory->step[0].low <= 157.01 * GB && memory->step[0].high >= 157.4 * GB);
    assert_int_equal(memory->step[1].flows, 4);
    assert_float_equal(memory->step[1].bytes_per_s, 164.5 * GB, 0.01 * GB);
    limits_free(limits);
    discovery_done(&node);
}

static const struct limit *found_of(const struct limits *limits, enum metric metric,
                                    const char *name)
{
    const struct limit *it = NULL;
    for (size_t i = 0; i < limits->count; i++)
        if (limits->item[i].source == LIMIT_RUNS && limits->item[i].metric == metric &&
            strcmp(limits->item[i].name, name) == 0)
            it = &limits->item[i];
    assert_non_null(it);
    return it;
}

/* Four H200 at an NVSwitch, by the quick profile: a gpu's port carries both directions together,
 * its links in what one peer sends it, and the host's memory gives way from the third gpu on,
 * reading as writing. Through the switch nothing is lost. */
static void recorded_four_h200(void **state)
{
    (void)state;
    struct discovery node = {0};
    struct berth_err err = {0};
    assert_int_equal(discover_folder("tests/nodes/h200x4", &node, &err), BERTH_OK);
    struct limits *limits = limits_new(node.graph, node.sets, node.values);
    assert_non_null(limits);
    /* What the host's memory gives and takes depends on how many copies there are; what all write
     * to it is less. */
    static const struct {
        unsigned flows;
        double rate;
    } steps[] = {{4, 166 * GB}, {6, 178 * GB}, {8, 164 * GB}};
    const struct limit *memory = found(limits, "numa0:memory"),
                       *written = found(limits, "numa0:memory:write"),
                       *read = found(limits, "numa0:memory:read");
    assert_int_equal(memory->user_count, 8);
    assert_int_equal(memory->step_count, sizeof steps / sizeof *steps);
    for (size_t i = 0; i < memory->step_count; i++) {
        assert_int_equal(memory->step[i].flows, steps[i].flows);
        assert_float_equal(memory->step[i].bytes_per_s, steps[i].rate, GB);
    }
    assert_true(written->user_count == 4 && read->user_count == 4);
    assert_true(written->step_count == 3 && read->step_count == 2);
    assert_float_equal(written->step[1].bytes_per_s, 134.6 * GB, GB);
    assert_float_equal(written->step[2].bytes_per_s, 136.2 * GB, GB);
    assert_float_equal(read->step[0].bytes_per_s, 147 * GB, GB);
    for (int gpu = 0; gpu < 4; gpu++) {
        char name[32];
        snprintf(name, sizeof name, "gpu%d:in", gpu);
        /* of kernels that write */
        assert_float_equal(
            found_of(limits, METRIC_GPU_GPU_KERNEL_CONCURRENT, name)->step[0].bytes_per_s,
            377.5 * GB, GB);
        assert_float_equal(
            found_of(limits, METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT, name)->step[0].bytes_per_s,
            402 * GB, GB);
        snprintf(name, sizeof name, "gpu%d:out", gpu);
        assert_float_equal(
            found_of(limits, METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT, name)->step[0].bytes_per_s,
            397.5 * GB, GB);
        snprintf(name, sizeof name, "gpu%d:port", gpu);
        assert_float_equal(found(limits, name)->step[0].bytes_per_s, 103 * GB, GB);
    }
    /* However few pairs were drawn, what copies out of a gpu share, or into it, is one thing. */
    size_t ports = 0;
    for (size_t i = 0; i < limits->count; i++) {
        if (limits->item[i].source != LIMIT_RUNS)
            continue;
        assert_null(strstr(limits->item[i].name, "switch"));
        ports += limits->item[i].metric == METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT;
    }
    assert_int_equal(ports, 8);
    limits_free(limits);
    discovery_done(&node);
}

/* Two H200 at an NVSwitch: what their copies into the host's memory share is that memory, because
 * the switch has no way there. */
static void recorded_h200_at_a_switch(void **state)
{
    (void)state;
    struct discovery node = {0};
    struct berth_err err = {0};
    assert_int_equal(discover_folder("tests/nodes/h200x2", &node, &err), BERTH_OK);
    struct limits *limits = limits_new(node.graph, node.sets, node.values);
    assert_non_null(limits);
    const struct limit *memory = found(limits, "numa0:memory"), *port = found(limits, "gpu1:port");
    assert_int_equal(memory->user_count, 4);
    assert_int_equal(memory->twin_count, 0);
    assert_float_equal(memory->step[0].bytes_per_s, 181 * GB, GB);
    assert_int_equal(port->user_count, 2);
    assert_float_equal(port->step[0].bytes_per_s, 103 * GB, GB);
    for (size_t i = 0; i < limits->count; i++)
        assert_true(limits->item[i].source != LIMIT_RUNS ||
                    strstr(limits->item[i].name, "switch") == NULL);
    limits_free(limits);
    discovery_done(&node);
}

/* Four superchips whose packages are joined by links without a stated rate. */
static void a_path_names_its_link_without_a_rate(void **state)
{
    (void)state;
    struct discovery node = {0};
    struct berth_err err = {0};
    struct values *none = values_new();
    assert_int_equal(discover_folder("tests/nodes/gh200-quad", &node, &err), BERTH_OK);
    values_finish(none);
    struct limits *limits = limits_new(node.graph, NULL, none);
    assert_non_null(limits);
    place_id gpu2 = graph_find(node.graph, "gpu2");
    const struct limits_pair *across = limits_pair(limits, gpu2, graph_find(node.graph, "numa1"));
    assert_true(across->unstated != LIMITS_NO_LINK &&
                node.graph->links[across->unstated].kind == LINK_SMP && across->bytes_per_s == 0);
    const struct limits_pair *peers = limits_pair(limits, gpu2, graph_find(node.graph, "gpu1"));
    assert_true(peers->unstated == LIMITS_NO_LINK && peers->bytes_per_s > 0);
    limits_free(limits);
    values_free(none);
    discovery_done(&node);
}

static bool meet(const struct limits *limits, const char *a, const char *b, const char *c,
                 const char *d)
{
    const struct graph *graph = limits->graph;
    return limits_meet(limits, (struct limits_ends){graph_find(graph, a), graph_find(graph, b)},
                       (struct limits_ends){graph_find(graph, c), graph_find(graph, d)});
}

/* Eight GPUs without measurements: the path from gpu0 to gpu3 leads over gpu1 or gpu2. */
static void transfers_meet_on_every_path_that_the_driver_may_choose(void **state)
{
    (void)state;
    struct discovery node = {0};
    struct berth_err err = {0};
    assert_int_equal(discover_folder("tests/nodes/mi250x", &node, &err), BERTH_OK);
    struct limits *limits = limits_new(node.graph, NULL, node.values);
    assert_non_null(limits);
    assert_true(meet(limits, "gpu0", "gpu3", "gpu1", "gpu3"));
    assert_true(meet(limits, "gpu0", "gpu3", "gpu2", "gpu3"));
    assert_true(meet(limits, "gpu2", "gpu3", "gpu0", "gpu3"));
    assert_true(meet(limits, "gpu0", "gpu3", "gpu1", "gpu2")); /* by gpu0-gpu2 or gpu1-gpu3 */
    assert_false(meet(limits, "gpu0", "gpu3", "gpu3", "gpu0"));
    assert_false(meet(limits, "gpu0", "gpu3", "gpu4", "gpu5"));
    assert_false(meet(limits, "gpu0", "numa3", "gpu2", "numa3")); /* in memory alone */
    limits_free(limits);
    discovery_done(&node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_h200_host_copies),
        cmocka_unit_test(recorded_four_h200),
        cmocka_unit_test(recorded_h200_at_a_switch),
        cmocka_unit_test(a_path_names_its_link_without_a_rate),
        cmocka_unit_test(transfers_meet_on_every_path_that_the_driver_may_choose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
