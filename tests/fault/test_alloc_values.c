/* Every allocation of values, snapshots and records fails once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/print.h"
#include "fault.h"
#include "node/record.h"
#include "node/record_values.h"
#include "node/snapshot.h"

static struct graph *graph;

static int make_graph(void **state)
{
    (void)state;
    struct berth_err err = {0};
    graph = graph_new();
    graph_add_place(graph, PLACE_MACHINE, 0);
    for (int i = 0; i < 4; i++) {
        place_id id = graph_add_place(graph, i < 2 ? PLACE_CORE : PLACE_GPU, i % 2);
        graph->places[id].parent = 0;
    }
    return graph_finish(graph, &err) == BERTH_OK ? 0 : -1;
}

static int free_graph(void **state)
{
    (void)state;
    graph_unref(graph);
    return 0;
}

static enum berth_code fill(struct values *values)
{
    char axes[16];
    for (int i = 0; i < 300; i++) {
        struct value v = {.metric = METRIC_CPU_PINGPONG, .from = 1 + i % 2, .to = 1, .value = i};
        snprintf(axes, sizeof axes, "operation=%d", i % 40);
        if (!values_add(values, &v, axes, NULL))
            return BERTH_NO_MEMORY;
    }
    return BERTH_OK;
}

static enum berth_code values_and_snapshot(struct berth_err *err)
{
    (void)err;
    struct values *a = values_new(), *b = values_new();
    enum berth_code code = a != NULL && b != NULL ? fill(a) : BERTH_NO_MEMORY;
    if (code == BERTH_OK && !values_add_all(b, a))
        code = BERTH_NO_MEMORY;
    values_free(a);
    if (code != BERTH_OK) {
        values_free(b);
        return code;
    }
    values_finish(b);
    assert_int_equal(b->count, 40);
    struct note note = {.code = "x"};
    struct snapshot *snapshot = snapshot_new(graph, b, &note, 1, 0, 1);
    snapshot_unref(snapshot);
    return snapshot != NULL ? BERTH_OK : BERTH_NO_MEMORY;
}

static enum berth_code records(struct berth_err *err)
{
    static const char line[] = "{\"record\":\"value\",\"metric\":\"gpu_gpu_copy_engine\",\"from\":"
                               "\"gpu0\",\"to\":\"gpu1\",\"samples\":["
                               "{\"bytes\":4096,\"median_ns\":1990,\"n\":9},{\"bytes\":65536,"
                               "\"median_ns\":46260,\"n\":9}]}";
    struct values *values = values_new();
    if (values == NULL)
        return BERTH_NO_MEMORY;
    struct record record;
    enum berth_code code = record_parse(line, strlen(line), &record, err);
    if (code == BERTH_OK) {
        code = record_add_values(&record, graph, VALUE_MEASURED, 1, values, err);
        record_done(&record);
    }
    values_free(values);
    return code;
}

/* What is written when the text must grow is now a value, now a name, now what stands between: it
 * is the whole text or none. */
static enum berth_code tree_as_text(struct berth_err *err)
{
    (void)err;
    char filler[1024];
    memset(filler, '_', sizeof filler);
    for (size_t length = 1; length < 1024; length += length == 15 ? 960 : 1) {
        json_t *tree = json_pack("{s:s%, s:{s:i}, s:[i, i, i]}", "1", filler, length, "name",
                                 "inner", 7, "other", 1, 2, 3);
        char *text = tree != NULL ? print_tree(tree, JSON_COMPACT) : NULL;
        json_decref(tree);
        if (text == NULL)
            return BERTH_NO_MEMORY;
        assert_int_equal(strlen(text),
                         length + strlen("{\"1\":\"\",\"name\":{\"inner\":7},\"other\":[1,2,3]}"));
        free(text);
    }
    return BERTH_OK;
}

/* What fails may do without (a smaller block, a sort's own memory), or else is NO_MEMORY; also is
 * another code that jansson leads to, which calls a string that it had no memory for an invalid
 * token. */
static void until_it_succeeds(enum berth_code (*scenario)(struct berth_err *), enum berth_code also)
{
    struct berth_err first = {0};
    int no_memory = 0;
    assert_int_equal(scenario(&first), BERTH_OK);
    for (int for_ever = 0; for_ever < 2; for_ever++)
        for (long at = 1;; at++) {
            struct berth_err err = {0};
            long before = fault_live();
            fault_arm(at, for_ever);
            enum berth_code code = scenario(&err);
            bool failed = fault_disarm();
            assert_int_equal(fault_live(), before);
            assert_true(code == BERTH_OK || (failed && (code == BERTH_NO_MEMORY || code == also)));
            no_memory += code == BERTH_NO_MEMORY;
            if (!failed) {
                assert_true(at > 5 && no_memory > 5);
                break;
            }
        }
}

static void values_survive(void **state)
{
    (void)state;
    until_it_succeeds(values_and_snapshot, BERTH_NO_MEMORY);
}

static void records_survive(void **state)
{
    (void)state;
    until_it_succeeds(records, BERTH_BAD_DATA);
}

static void text_survives(void **state)
{
    (void)state;
    until_it_succeeds(tree_as_text, BERTH_NO_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_survive),
                                       cmocka_unit_test(records_survive),
                                       cmocka_unit_test(text_survives)};
    return cmocka_run_group_tests(tests, make_graph, free_graph);
}
