#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "node/snapshot.h"

static struct graph *small_graph(void)
{
    struct graph *graph = graph_new();
    graph_add_place(graph, PLACE_MACHINE, 0);
    memcpy(graph->fingerprint, "0123456789abcdef0123456789abcdef", 33);
    struct berth_err err = {0};
    assert_int_equal(graph_finish(graph, &err), BERTH_OK);
    return graph;
}

static struct snapshot *small_snapshot(struct graph *graph, uint64_t generation)
{
    struct values *values = values_new();
    struct value v = {.metric = METRIC_NUMA_DISTANCE, .source = VALUE_NOMINAL, .value = 10};
    assert_true(values_add(values, &v, "", NULL));
    values_finish(values);
    struct note note = {.code = "probe-crashed",
                        .severity = 1,
                        .place = "machine0",
                        .text = "signal 11",
                        .since_s = 5};
    return snapshot_new(graph, values, &note, 1, 1234, generation);
}

static void holds_what_it_was_given(void **state)
{
    (void)state;
    struct graph *graph = small_graph();
    struct snapshot *snapshot = small_snapshot(graph, 7);
    graph_unref(graph);
    assert_string_equal(snapshot->id, "01234567-7");
    assert_int_equal(snapshot->generation, 7);
    assert_int_equal(snapshot->last_probe_at_s, 1234);
    assert_int_equal(snapshot->note_count, 1);
    assert_string_equal(snapshot->notes[0].text, "signal 11");
    assert_true(values_find(snapshot->values, METRIC_NUMA_DISTANCE, 0, 0, "")->value == 10);
    assert_string_equal(graph_place(snapshot->graph, 0)->name, "machine0");
    snapshot_unref(snapshot);
    snapshot_unref(NULL);
}

static void without_notes(void **state)
{
    (void)state;
    struct graph *graph = small_graph();
    struct snapshot *snapshot = snapshot_new(graph, values_new(), NULL, 0, 0, UINT64_MAX);
    assert_string_equal(snapshot->id, "01234567-18446744073709551615");
    assert_null(snapshot->notes);
    snapshot_unref(snapshot);
    graph_unref(graph);
}

static struct snapshot *with_distance(struct graph *graph, double value, double low, double high)
{
    struct values *values = values_new();
    struct value v = {.metric = METRIC_NUMA_DISTANCE, .value = value, .low = low, .high = high};
    assert_true(values_add(values, &v, "", NULL));
    values_finish(values);
    return snapshot_new(graph, values, NULL, 0, 0, 1);
}

static void differs_by_more_than_noise(void **state)
{
    (void)state;
    const struct {
        double value, low, high;
        bool differs;
    } cases[] = {{100, 99, 101, false}, {104, 103, 105, false}, {106, 100, 112, false},
                 {106, 105, 107, true}, {94, 93, 95, true},     {200, NAN, NAN, true}};
    struct graph *graph = small_graph(), *other = small_graph();
    struct snapshot *before = with_distance(graph, 100, 99, 101),
                    *none = snapshot_new(graph, values_new(), NULL, 0, 0, 1),
                    *elsewhere = with_distance(other, 100, 99, 101);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct snapshot *after = with_distance(graph, cases[i].value, cases[i].low, cases[i].high);
        assert_int_equal(snapshot_differs(before, after), cases[i].differs);
        snapshot_unref(after);
    }
    assert_true(snapshot_differs(before, none));
    assert_true(snapshot_differs(before, elsewhere));
    snapshot_unref(before);
    snapshot_unref(none);
    snapshot_unref(elsewhere);
    graph_unref(graph);
    graph_unref(other);
}

/* Two threads take and drop references and read, while the first one drops its own: the sanitizers
 * judge. */
static void *reader(void *arg)
{
    const struct snapshot *snapshot = arg;
    size_t found = 0;
    for (int i = 0; i < 20000; i++) {
        const struct snapshot *mine = snapshot_ref(snapshot);
        found += values_find(mine->values, METRIC_NUMA_DISTANCE, 0, 0, "") != NULL;
        snapshot_unref(mine);
    }
    snapshot_unref(snapshot);
    return found == 20000 ? arg : NULL;
}

static void references_from_threads(void **state)
{
    (void)state;
    struct graph *graph = small_graph();
    struct snapshot *snapshot = small_snapshot(graph, 1);
    graph_unref(graph);
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, reader, (void *)snapshot_ref(snapshot)),
                         0);
    snapshot_unref(snapshot);
    for (int i = 0; i < 2; i++) {
        void *result;
        assert_int_equal(pthread_join(thread[i], &result), 0);
        assert_non_null(result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_what_it_was_given),
        cmocka_unit_test(without_notes),
        cmocka_unit_test(differs_by_more_than_noise),
        cmocka_unit_test(references_from_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
