/* Every allocation of curves and sets fails once, from the record to the store. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fault.h"
#include "node/curve.h"
#include "node/record.h"
#include "node/record_values.h"
#include "node/sets.h"
#include "store/store.h"

static struct graph *graph;

/* What the scenarios arm: nothing yet when 0. */
static long fail_at;
static bool fail_for_ever;

static int make_graph(void **state)
{
    (void)state;
    struct berth_err err = {0};
    graph = graph_new();
    graph_add_place(graph, PLACE_MACHINE, 0);
    for (int i = 0; i < 4; i++) {
        place_id id = graph_add_place(graph, PLACE_CORE, i);
        graph->places[id].parent = 0;
    }
    memset(graph->fingerprint, 'a', 32);
    return graph_finish(graph, &err) == BERTH_OK ? 0 : -1;
}

static int free_graph(void **state)
{
    (void)state;
    graph_unref(graph);
    return 0;
}

static const char copy[] = "{\"record\":\"value\",\"metric\":\"cpu_copy\",\"from\":\"core0\","
                           "\"to\":\"core1\",\"t0_call_ns\":150,\"t0_queue_ns\":100,"
                           "\"samples\":[{\"bytes\":4096,\"median_ns\":500},{\"bytes\":65536,"
                           "\"median_ns\":6644},{\"bytes\":1048576,\"median_ns\":100000}]}";
static const char together[] =
    "{\"record\":\"set\",\"metric\":\"memory_bandwidth_concurrent\",\"flows\":["
    "{\"from\":\"core1\",\"to\":\"core0\",\"bytes_per_s\":5},{\"from\":\"core0\",\"to\":\"core0\","
    "\"bytes_per_s\":4}]}";

/* One line, to what it is for. */
static enum berth_code take(const char *line, struct values *values, struct sets *sets,
                            struct berth_err *err)
{
    struct record record;
    enum berth_code code = record_parse(line, strlen(line), &record, err);
    if (code != BERTH_OK)
        return code;
    code = record.kind == RECORD_SET
               ? record_add_set(&record, graph, VALUE_MEASURED, 1, sets, err)
               : record_add_values(&record, graph, VALUE_MEASURED, 1, values, err);
    record_done(&record);
    return code;
}

static enum berth_code records_and_curves(struct berth_err *err)
{
    if (fail_at > 0)
        fault_arm(fail_at, fail_for_ever);
    struct values *values = values_new();
    struct curves *made = NULL;
    struct sets *sets = sets_new();
    enum berth_code code =
        values != NULL && sets != NULL ? take(copy, values, NULL, err) : BERTH_NO_MEMORY;
    if (code == BERTH_OK)
        code = take(together, NULL, sets, err);
    if (code == BERTH_OK && !curve_fill_large(values, graph))
        code = BERTH_NO_MEMORY;
    if (code == BERTH_OK && (made = curve_make_all(values, graph)) == NULL)
        code = BERTH_NO_MEMORY;
    if (code == BERTH_OK) {
        assert_int_equal(made->count, 1);
        assert_non_null(
            values_find(values, METRIC_CPU_COPY, made->item[0].from, made->item[0].to, ""));
    }
    sets_free(sets);
    curve_free_all(made);
    values_free(values);
    return code;
}

static int64_t now_s(void *state)
{
    (void)state;
    return 1790000000;
}

/* From the moment that the store is open and knows its node; test_alloc_store has the rest. A run
 * with a set is written and read back; what could not be done in memory is not half done. */
static enum berth_code stored_sets(struct berth_err *err)
{
    const struct clock clock = {.now_s = now_s};
    struct store *store = NULL;
    struct run run = {.probe = "cpu",
                      .backend = "cpu",
                      .profile = "full",
                      .status = "complete",
                      .started_at_s = 1,
                      .sets = sets_new()};
    struct sets *back = sets_new();
    int64_t id;
    enum berth_code code =
        run.sets != NULL && back != NULL ? take(together, NULL, run.sets, err) : BERTH_NO_MEMORY;
    if (code == BERTH_OK)
        code = store_open(NULL, &clock, &store, err);
    if (code == BERTH_OK)
        code = store_begin(store, graph, "boot", err);
    if (fail_at > 0)
        fault_arm(fail_at, fail_for_ever);
    if (code == BERTH_OK)
        code = store_write_run(store, graph, &run, &id, err);
    if (code == BERTH_OK)
        code = store_set_load(store, graph, back, err);
    if (code == BERTH_OK)
        assert_true(back->count == 1 && back->item[0].flow_count == 2 &&
                    isnan(back->item[0].flow[0].low));
    run_done(&run);
    sets_free(back);
    store_close(store);
    return code;
}

/* Whatever fails is NO_MEMORY, or did not matter (a sort's own memory), or is what jansson makes of
 * it: it calls a string that it had no memory for an invalid token. */
static void until_it_succeeds(enum berth_code (*scenario)(struct berth_err *))
{
    struct berth_err first = {0};
    int no_memory = 0;
    fail_at = 0;
    if (scenario(&first) != BERTH_OK)
        fail_msg("%s", first.detail);
    for (int for_ever = 0; for_ever < 2; for_ever++)
        for (long at = 1;; at++) {
            struct berth_err err = {0};
            long before = fault_live();
            fail_at = at;
            fail_for_ever = for_ever;
            enum berth_code code = scenario(&err);
            bool failed = fault_disarm();
            assert_int_equal(fault_live(), before);
            if (code != BERTH_OK &&
                !(failed &&
                  (code == BERTH_NO_MEMORY || code == BERTH_BAD_DATA || code == BERTH_UNAVAILABLE)))
                fail_msg("allocation %ld: code %d: %s", at, code, err.detail);
            no_memory += code == BERTH_NO_MEMORY;
            if (!failed) {
                assert_true(at > 5 && no_memory > 5);
                break;
            }
        }
}

static void records_and_curves_survive(void **state)
{
    (void)state;
    until_it_succeeds(records_and_curves);
}

static void sets_survive(void **state)
{
    (void)state;
    until_it_succeeds(stored_sets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(records_and_curves_survive),
                                       cmocka_unit_test(sets_survive)};
    return cmocka_run_group_tests(tests, make_graph, free_graph);
}
