/* Shared limits of transfers: the limits of invented machines are found again. */
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
#include "cost/limits_fit.h"
#include "discover/discover.h"
#include "limits_found.h"

/* Four modules of two gpus; two NUMA nodes in one package; modules 0 and 1 belong to numa0. */
static struct graph *eight_gpus(void)
{
    struct graph *graph = graph_new();
    struct berth_err err = {0};
    graph_add_place(graph, PLACE_MACHINE, 0);
    place_id package = graph_add_place(graph, PLACE_PACKAGE, 0), module[4];
    graph->places[package].parent = 0;
    for (int i = 0; i < 2; i++) {
        place_id numa = graph_add_place(graph, PLACE_NUMA, i);
        graph->places[numa].parent = package;
    }
    for (int i = 0; i < 4; i++) {
        module[i] = graph_add_place(graph, PLACE_MODULE, i);
        graph->places[module[i]].parent = package;
    }
    place_id gpu[8];
    for (int i = 0; i < 8; i++) {
        gpu[i] = graph_add_place(graph, PLACE_GPU, i);
        graph->places[gpu[i]].parent = module[i / 2];
    }
    assert_non_null(graph_add_link(graph, gpu[0], gpu[1], LINK_XGMI));
    assert_int_equal(graph_finish(graph, &err), BERTH_OK);
    return graph;
}

/* "gpu0>numa0=25 gpu1>numa0=12.5" */
static void add_set(struct sets *sets, const struct graph *graph, enum metric metric,
                    const char *text)
{
    struct set_flow flow[16];
    struct set set = {.metric = metric, .source = VALUE_MEASURED, .flow = flow};
    char copy[512], *save = NULL, from[24], to[24];
    snprintf(copy, sizeof copy, "%s", text);
    for (char *word = strtok_r(copy, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save)) {
        double rate;
        assert_int_equal(sscanf(word, "%23[^>]>%23[^=]=%lf", from, to, &rate), 3);
        flow[set.flow_count++] = (struct set_flow){
            graph_find(graph, from), graph_find(graph, to), "", rate * GB, NAN, NAN};
        assert_true(flow[set.flow_count - 1].from != PLACE_NONE &&
                    flow[set.flow_count - 1].to != PLACE_NONE);
    }
    assert_true(sets_add(sets, &set));
}

static struct limits *limits_of_runs(const struct graph *graph, const struct sets *sets)
{
    struct values *none = values_new();
    values_finish(none);
    struct limits *limits = limits_new(graph, sets, none);
    assert_non_null(limits);
    values_free(none);
    return limits;
}

/* Every gpu gets 25 alone, a module's port has room for 28 each way; both ways share nothing. */
static void shared_host_ports_are_found(void **state)
{
    (void)state;
    struct graph *graph = eight_gpus();
    struct sets *sets = sets_new();
    char text[512];
    for (int in = 0; in < 2; in++) {
        for (int a = 0; a < 8; a++) {
            snprintf(text, sizeof text, in ? "numa%d>gpu%d=25" : "gpu%2$d>numa%1$d=25", a / 4, a);
            add_set(sets, graph, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, text);
            for (int b = a + 1; b < 8; b++) {
                double rate = a / 2 == b / 2 ? 14 : 25;
                snprintf(text, sizeof text,
                         in ? "numa%d>gpu%d=%g numa%d>gpu%d=%g"
                            : "gpu%2$d>numa%1$d=%3$g gpu%5$d>numa%4$d=%6$g",
                         a / 4, a, rate, b / 4, b, rate);
                add_set(sets, graph, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, text);
            }
        }
        snprintf(text, sizeof text,
                 in ? "numa0>gpu0=14 numa0>gpu1=14 numa0>gpu2=14 numa0>gpu3=14 numa1>gpu4=14 "
                      "numa1>gpu5=14 numa1>gpu6=14 numa1>gpu7=14"
                    : "gpu0>numa0=14 gpu1>numa0=14 gpu2>numa0=14 gpu3>numa0=14 gpu4>numa1=14 "
                      "gpu5>numa1=14 gpu6>numa1=14 "
                      "gpu7>numa1=14");
        add_set(sets, graph, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, text);
    }
    struct limits *limits = limits_of_runs(graph, sets);
    assert_all_reproduced(limits, sets);
    assert_int_equal(found_count(limits), 8);
    for (int m = 0; m < 4; m++) {
        for (int in = 0; in < 2; in++) {
            snprintf(text, sizeof text, "module%d:host-port:%s", m, in ? "in" : "out");
            const struct limit *port = found(limits, text);
            assert_int_equal(port->user_count, 2);
            assert_int_equal(port->step_count, 1);
            assert_float_equal(port->step[0].bytes_per_s, 28 * GB, 1);
            assert_int_equal(port->twin_count, 0);
            /* Structure says what nobody measured. */
            char gpu[16];
            snprintf(gpu, sizeof gpu, "gpu%d", 2 * m);
            place_id a = graph_find(graph, gpu), far = graph_find(graph, m < 2 ? "numa1" : "numa0");
            assert_int_equal(limits_uses(limits, port, a, far, ""), !in);
            assert_int_equal(limits_uses(limits, port, far, a, ""), in);
        }
    }
    limits_free(limits);
    sets_free(sets);
    graph_unref(graph);
}

/* Ports for 28 each, and a memory that takes 80 in all: eight writers get 10 each, less than their
 * ports would give. */
static void limits_stand_behind_limits(void **state)
{
    (void)state;
    struct graph *graph = eight_gpus();
    struct sets *sets = sets_new();
    char text[512];
    for (int a = 0; a < 8; a++) {
        snprintf(text, sizeof text, "gpu%d>numa0=25", a);
        add_set(sets, graph, METRIC_HOST_GPU_KERNEL_CONCURRENT, text);
        for (int b = a + 1; b < 8; b++) {
            double rate = a / 2 == b / 2 ? 14 : 25;
            snprintf(text, sizeof text, "gpu%d>numa0=%g gpu%d>numa0=%g", a, rate, b, rate);
            add_set(sets, graph, METRIC_HOST_GPU_KERNEL_CONCURRENT, text);
        }
    }
    add_set(sets, graph, METRIC_HOST_GPU_KERNEL_CONCURRENT,
            "gpu0>numa0=20 gpu2>numa0=20 gpu4>numa0=20 gpu6>numa0=20");
    add_set(sets, graph, METRIC_HOST_GPU_KERNEL_CONCURRENT,
            "gpu0>numa0=10 gpu1>numa0=10 gpu2>numa0=10 gpu3>numa0=10 gpu4>numa0=10 gpu5>numa0=10 "
            "gpu6>numa0=10 gpu7>numa0=10");
    struct limits *limits = limits_of_runs(graph, sets);
    assert_all_reproduced(limits, sets);
    assert_int_equal(found_count(limits), 5);
    assert_float_equal(found(limits, "module2:host-port:out")->step[0].bytes_per_s, 28 * GB, 1);
    const struct limit *memory = found(limits, "numa0:memory:write");
    assert_int_equal(memory->user_count, 8);
    assert_int_equal(memory->step_count, 1);
    assert_float_equal(memory->step[0].bytes_per_s, 80 * GB, 1);
    limits_free(limits);
    sets_free(sets);
    graph_unref(graph);
}

/* Both directions of a link between two gpus share 60; each alone gets 50. */
static void directions_share_a_link_only_where_a_run_says_so(void **state)
{
    (void)state;
    struct graph *graph = eight_gpus();
    struct sets *sets = sets_new();
    add_set(sets, graph, METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT, "gpu0>gpu1=50");
    add_set(sets, graph, METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT, "gpu1>gpu0=50");
    add_set(sets, graph, METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT, "gpu0>gpu1=30 gpu1>gpu0=30");
    struct limits *limits = limits_of_runs(graph, sets);
    assert_all_reproduced(limits, sets);
    assert_int_equal(found_count(limits), 1);
    const struct limit *link = found(limits, "gpu0-gpu1:link");
    assert_float_equal(link->step[0].bytes_per_s, 60 * GB, 1);
    assert_int_equal(link->twin_count, 2); /* it may be all that one of the gpus can do */
    assert_true(has_twin(limits, link, "gpu0:port"));
    limits_free(limits);
    sets_free(sets);
    graph_unref(graph);
}

/* Two routes that share a link which the structure does not show. */
static void what_has_no_name_is_found_too(void **state)
{
    (void)state;
    struct graph *graph = eight_gpus();
    struct sets *sets = sets_new();
    add_set(sets, graph, METRIC_GPU_GPU_KERNEL_CONCURRENT, "gpu0>gpu4=48");
    add_set(sets, graph, METRIC_GPU_GPU_KERNEL_CONCURRENT, "gpu2>gpu6=48");
    add_set(sets, graph, METRIC_GPU_GPU_KERNEL_CONCURRENT, "gpu1>gpu5=48");
    add_set(sets, graph, METRIC_GPU_GPU_KERNEL_CONCURRENT, "gpu0>gpu4=24 gpu2>gpu6=24");
    add_set(sets, graph, METRIC_GPU_GPU_KERNEL_CONCURRENT, "gpu0>gpu4=48 gpu1>gpu5=48");
    add_set(sets, graph, METRIC_GPU_GPU_KERNEL_CONCURRENT, "gpu1>gpu5=48 gpu2>gpu6=48");
    add_set(sets, graph, METRIC_GPU_GPU_KERNEL_CONCURRENT,
            "gpu0>gpu4=24 gpu1>gpu5=48 gpu2>gpu6=24");
    struct limits *limits = limits_of_runs(graph, sets);
    assert_all_reproduced(limits, sets);
    assert_int_equal(found_count(limits), 1);
    const struct limit *shared = found(limits, "gpu0 to gpu4 and 1 more");
    assert_int_equal(shared->user_count, 2);
    assert_false(shared->has_role);
    assert_float_equal(shared->step[0].bytes_per_s, 48 * GB, 1);
    assert_true(shared->step[0].low <= 48 * GB && shared->step[0].high >= 48 * GB);
    assert_true(
        limits_uses(limits, shared, graph_find(graph, "gpu2"), graph_find(graph, "gpu6"), ""));
    assert_false(
        limits_uses(limits, shared, graph_find(graph, "gpu1"), graph_find(graph, "gpu5"), ""));
    limits_free(limits);
    sets_free(sets);
    graph_unref(graph);
}

/* Writes to a memory get more of it than reads, and an engine takes one copy after the other: what
 * all get together is explained, and that the shares are not is said. */
static void what_is_shared_unevenly_is_found_by_its_total(void **state)
{
    (void)state;
    struct graph *graph = eight_gpus();
    struct sets *sets = sets_new();
    add_set(sets, graph, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, "gpu0>numa0=50");
    add_set(sets, graph, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, "numa0>gpu2=50");
    add_set(sets, graph, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, "gpu0>numa0=50 numa0>gpu2=30");
    add_set(sets, graph, METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT, "gpu4>gpu0=100");
    add_set(sets, graph, METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT, "gpu4>gpu2=100");
    add_set(sets, graph, METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT, "gpu4>gpu0=100 gpu4>gpu2=10");
    struct limits *limits = limits_of_runs(graph, sets);
    assert_int_equal(found_count(limits), 2);
    const struct limit_step *memory = found(limits, "numa0:memory")->step,
                            *engine = found(limits, "gpu4:host-link:out")->step;
    assert_float_equal(memory->bytes_per_s, 80 * GB, 1);
    assert_float_equal(engine->bytes_per_s, 110 * GB, 1);
    for (size_t s = 0; s < sets->count; s++)
        assert_int_equal(limits->run[s].is_reproduced, sets->item[s].flow_count == 1);
    limits_free(limits);
    sets_free(sets);
    graph_unref(graph);
}

/* Two share a link unfairly, 26.3 and 23.5 of 50. All that comes into that place would carry a
 * little more, for a third one gets 50.5 there alone, and half of that is just within the first
 * one's tolerance: that is chance, and no reason to hold up whatever else comes in. */
static void shares_that_are_met_by_chance_explain_nothing(void **state)
{
    (void)state;
    double alone[] = {37.3e9, 37.6e9, 50.5e9}, predicted[4][2];
    size_t flow[][2] = {{0}, {1}, {2}, {0, 1}};
    const double rate[][2] = {{37.3e9}, {37.6e9}, {50.5e9}, {26.3e9, 23.5e9}};
    unsigned char link[] = {1, 1, 0}, place[] = {1, 1, 1};
    struct fit_candidate candidate[] = {{.users = link}, {.users = place, .is_one = true}};
    struct set_flow measured[4][2];
    struct limits_run result[4] = {{.predicted = NULL}};
    struct fit_run run[4];
    for (size_t r = 0; r < 4; r++) {
        for (size_t i = 0; i < 2; i++)
            measured[r][i] =
                (struct set_flow){.bytes_per_s = rate[r][i], .low = rate[r][i], .high = rate[r][i]};
        result[r].predicted = predicted[r];
        run[r] = (struct fit_run){r == 3 ? 2 : 1, measured[r], flow[r], &result[r], false};
    }
    struct fit problem = {.alone = alone,
                          .flow_count = 3,
                          .run = run,
                          .run_count = 4,
                          .candidate = candidate,
                          .candidate_count = 2};
    assert_true(limits_fit(&problem));
    assert_int_equal(problem.limit_count, 1);
    assert_int_equal(problem.limit[0].candidate, 0);
    assert_true(problem.limit[0].users[0] && problem.limit[0].users[1] &&
                !problem.limit[0].users[2]);
    assert_true(fabs(problem.limit[0].step[0].bytes_per_s / 49.8e9 - 1) < 1e-9);
    assert_false(result[3].is_reproduced);
    free(problem.unnamed);
}

/* Cores in their own memory and others in it share it; the slower of the two has what it gets in
 * the set, for nobody measured it alone. */
static void cores_share_a_memory(void **state)
{
    (void)state;
    struct graph *graph = eight_gpus();
    struct sets *sets = sets_new();
    add_set(sets, graph, METRIC_MEMORY_BANDWIDTH_CONCURRENT, "numa1>numa0=30");
    add_set(sets, graph, METRIC_MEMORY_BANDWIDTH_CONCURRENT, "numa0>numa0=11 numa1>numa0=22");
    struct limits *limits = limits_of_runs(graph, sets);
    assert_all_reproduced(limits, sets);
    assert_int_equal(found_count(limits), 1);
    assert_float_equal(found(limits, "numa0:memory")->step[0].bytes_per_s, 33 * GB, 1);
    limits_free(limits);
    sets_free(sets);
    graph_unref(graph);
}

/* All that is known is that the two gpus of a module get half into one memory. */
static void what_the_runs_cannot_tell_apart_is_listed(void **state)
{
    (void)state;
    struct graph *graph = eight_gpus();
    struct sets *sets = sets_new();
    add_set(sets, graph, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, "gpu0>numa0=20");
    add_set(sets, graph, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, "gpu1>numa0=20");
    add_set(sets, graph, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, "gpu0>numa0=10 gpu1>numa0=10");
    struct limits *limits = limits_of_runs(graph, sets);
    assert_int_equal(found_count(limits), 1);
    const struct limit *port = found(limits, "module0:host-port:out");
    assert_true(has_twin(limits, port, "numa0:memory:write"));
    limits_free(limits);
    sets_free(sets);
    graph_unref(graph);
}

/* Gpus two and two at NUMA nodes, nothing between that structure shows. */
static struct graph *gpus_at_memories(int numas, int each)
{
    struct graph *graph = graph_new();
    struct berth_err err = {0};
    graph_add_place(graph, PLACE_MACHINE, 0);
    place_id package = graph_add_place(graph, PLACE_PACKAGE, 0);
    graph->places[package].parent = 0;
    for (int i = 0; i < numas; i++) {
        place_id numa = graph_add_place(graph, PLACE_NUMA, i);
        graph->places[numa].parent = package;
        for (int j = 0; j < each; j++) {
            place_id gpu = graph_add_place(graph, PLACE_GPU, i * each + j);
            graph->places[gpu].parent = graph->places[gpu].numa = numa;
        }
    }
    assert_int_equal(graph_finish(graph, &err), BERTH_OK);
    return graph;
}

/* Two gpus at a memory, of which no other gpu's transfers with it were measured: that two get
 * together what one gets alone is a port's doing, which far memories have no part in. */
static void a_port_that_structure_does_not_show_comes_before_the_memory(void **state)
{
    (void)state;
    struct graph *graph = gpus_at_memories(2, 2);
    struct sets *sets = sets_new();
    for (int gpu = 0; gpu < 4; gpu++) {
        char text[64];
        snprintf(text, sizeof text, "gpu%d>numa%d=55", gpu, gpu / 2);
        add_set(sets, graph, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, text);
    }
    add_set(sets, graph, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, "gpu0>numa0=25.5 gpu1>numa0=25.5");
    add_set(sets, graph, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, "gpu0>numa0=55 gpu2>numa1=55");
    add_set(sets, graph, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, "gpu2>numa1=25.5 gpu3>numa1=25.5");
    struct limits *limits = limits_of_runs(graph, sets);
    assert_all_reproduced(limits, sets);
    assert_int_equal(found_count(limits), 2);
    const struct limit *port = found(limits, "numa0:gpu-port:out");
    assert_float_equal(port->step[0].bytes_per_s, 51 * GB, 1);
    assert_true(has_twin(limits, port, "numa0:memory:write"));
    place_id gpu0 = graph_find(graph, "gpu0"), gpu2 = graph_find(graph, "gpu2"),
             numa0 = graph_find(graph, "numa0"), numa1 = graph_find(graph, "numa1");
    assert_true(limits_uses(limits, port, gpu0, numa1, ""));
    assert_false(limits_uses(limits, port, gpu2, numa0, ""));
    assert_false(limits_uses(limits, port, numa0, gpu0, ""));
    /* no link joins them: through the host */
    assert_true(limits_uses(limits, port, gpu0, gpu2, ""));
    assert_false(limits_uses(limits, port, gpu0, graph_find(graph, "gpu1"), ""));
    limits_free(limits);

    /* A third gpu's transfer with that memory is as slow as those two: it is the memory. */
    add_set(sets, graph, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, "gpu2>numa0=55");
    add_set(sets, graph, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, "gpu0>numa0=25.5 gpu2>numa0=25.5");
    limits = limits_of_runs(graph, sets);
    assert_all_reproduced(limits, sets);
    for (size_t i = 0; i < limits->count; i++)
        assert_false(limits->item[i].source == LIMIT_RUNS &&
                     strcmp(limits->item[i].name, "numa0:gpu-port:out") == 0);
    limits_free(limits);
    sets_free(sets);
    graph_unref(graph);
}

/* Three that get together what three times one is not, but more than one: nothing but a memory is
 * known to do that. */
static void a_memory_that_carries_more_than_one_gets_is_a_memory(void **state)
{
    (void)state;
    struct graph *graph = gpus_at_memories(2, 3);
    struct sets *sets = sets_new();
    add_set(sets, graph, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, "gpu0>numa0=55 gpu1>numa0=55");
    add_set(sets, graph, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT,
            "gpu0>numa0=50 gpu1>numa0=50 gpu2>numa0=50");
    struct limits *limits = limits_of_runs(graph, sets);
    assert_all_reproduced(limits, sets);
    const struct limit *memory = found(limits, "numa0:memory:write");
    assert_float_equal(memory->step[0].bytes_per_s, 150 * GB, 1);
    for (size_t i = 0; i < memory->twin_count; i++)
        assert_null(strstr(limits->item[memory->twin[i]].name, "gpu-port"));
    limits_free(limits);
    sets_free(sets);
    graph_unref(graph);
}

/* Nobody can share like this max-min fairly. */
static void what_is_not_reproduced_is_said(void **state)
{
    (void)state;
    struct graph *graph = eight_gpus();
    struct sets *sets = sets_new();
    add_set(sets, graph, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, "gpu0>numa0=20");
    add_set(sets, graph, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, "gpu1>numa0=20");
    add_set(sets, graph, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, "gpu0>numa0=15 gpu1>numa0=5");
    struct limits *limits = limits_of_runs(graph, sets);
    for (size_t i = 0; i < limits->run_count; i++)
        assert_int_equal(limits->run[i].is_reproduced, sets->item[i].flow_count == 1);
    limits_free(limits);
    struct limits *empty = limits_of_runs(graph, NULL);
    assert_true(found_count(empty) == 0 && empty->run_count == 0);
    limits_free(empty);
    sets_free(sets);
    graph_unref(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_host_ports_are_found),
        cmocka_unit_test(limits_stand_behind_limits),
        cmocka_unit_test(directions_share_a_link_only_where_a_run_says_so),
        cmocka_unit_test(what_has_no_name_is_found_too),
        cmocka_unit_test(what_is_shared_unevenly_is_found_by_its_total),
        cmocka_unit_test(shares_that_are_met_by_chance_explain_nothing),
        cmocka_unit_test(cores_share_a_memory),
        cmocka_unit_test(what_the_runs_cannot_tell_apart_is_listed),
        cmocka_unit_test(a_port_that_structure_does_not_show_comes_before_the_memory),
        cmocka_unit_test(a_memory_that_carries_more_than_one_gets_is_a_memory),
        cmocka_unit_test(what_is_not_reproduced_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
