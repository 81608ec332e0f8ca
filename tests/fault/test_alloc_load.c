/* Every allocation of pricing transfers together fails once: there is an error or the same answer, never a crash, and nothing stays behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fault/fault.h"
#include "plan_load.h"

#define GB 1e9

enum { MACHINE, NUMA, MODULE, GPU0, GPU1, PLACES };

static struct snapshot *make_snapshot(void)
{
    struct berth_err err = {0};
    struct graph *graph = graph_new();
    static const enum place_kind kinds[PLACES] = {PLACE_MACHINE, PLACE_NUMA, PLACE_MODULE, PLACE_GPU, PLACE_GPU};
    for (int i = 0; i < PLACES; i++)
        graph_add_place(graph, kinds[i], i == GPU1);
    for (int i = NUMA; i < PLACES; i++)
        graph->places[i].parent = i >= GPU0 ? MODULE : MACHINE;
    graph_add_link(graph, GPU0, GPU1, LINK_XGMI)->nominal_bytes_per_s = 100 * GB;
    memset(graph->fingerprint, 'a', 32);
    assert_int_equal(graph_finish(graph, &err), BERTH_OK);
    struct values *values = values_new();
    struct sets *sets = sets_new();
    for (place_id gpu = GPU0; gpu <= GPU1; gpu++) {
        struct value v = {.metric = METRIC_HOST_GPU_COPY_ENGINE, .source = VALUE_MEASURED, .from = gpu, .to = NUMA, .n = 9, .value = 20 * GB, .low = 19 * GB, .high = 21 * GB};
        assert_true(values_add(values, &v, "", NULL));
    }
    struct set_flow both[] = {{GPU0, NUMA, (char *)"", 10 * GB, 9 * GB, 11 * GB}, {GPU1, NUMA, (char *)"", 10 * GB, 9 * GB, 11 * GB}};
    assert_true(sets_add(sets, &(struct set){.metric = METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, .flow = both, .flow_count = 2}));
    values_finish(values);
    struct snapshot *snap = snapshot_new(graph, values, NULL, 0, 0, 1);
    assert_non_null(snap);
    snap->sets = sets;
    graph_unref(graph);
    return snap;
}

static enum berth_code price(struct snapshot *snap, struct berth_err *err)
{
    static const place_id places[] = {GPU0, GPU1, NUMA};
    static const struct load_flow flows[] = {{0, 2, GB}, {1, 2, GB}, {0, 1, GB}};
    struct load_table *table = NULL;
    struct plan_evidence evidence = {0};
    struct plan_warnings warnings = {0};
    enum berth_code code = plan_load_new(snap, places, 3, LOAD_BEST, &table, err);
    struct load_scratch *scratch = code == BERTH_OK ? plan_load_scratch_new(table, 3) : NULL;
    if (code == BERTH_OK && scratch == NULL)
        code = BERTH_NO_MEMORY;
    if (code == BERTH_OK)
        code = plan_load_cite(table, flows, 3, scratch, &evidence, 0, &warnings, err);
    if (code == BERTH_OK) {
        double time_ns = plan_load_time(table, flows, 3, scratch).step_ns;
        assert_true(time_ns > 99.99e6 && time_ns < 100.01e6);
        assert_true(warnings.count > 0 && evidence.count >= 3);
    }
    plan_evidence_done(&evidence);
    plan_load_scratch_free(scratch);
    plan_load_free(table);
    return code;
}

static void prices_survive(void **state)
{
    (void)state;
    long before = fault_live();
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        int failures = 0;
        for (long at = 1;; at++) {
            struct berth_err err = {0};
            struct snapshot *snap = make_snapshot(); /* anew, because it keeps its curves and resources */
            fault_arm(at, for_ever);
            enum berth_code code = price(snap, &err);
            bool failed = fault_disarm();
            if (code != BERTH_OK && !(failed && code == BERTH_NO_MEMORY))
                fail_msg("allocation %ld: code %d: %s", at, code, err.detail);
            failures += code != BERTH_OK;
            snapshot_unref(snap);
            if (!failed)
                break;
        }
        assert_true(failures >= 20);
    }
    assert_int_equal(fault_live(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(prices_survive)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
