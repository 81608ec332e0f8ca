/* Every allocation of pricing transfers together fails once: there is an error or the same answer,
 * never a crash, and nothing stays behind. */
#include "cost/evidence.h"
#include "cost/load.h"
#include "fault_answer.h"
#include "node/reasons.h"

enum { MACHINE, NUMA, MODULE, GPU0, GPU1, PLACES };

static struct snapshot *make_snapshot(const void *question)
{
    (void)question;
    struct graph *graph = graph_new();
    static const enum place_kind kinds[PLACES] = {PLACE_MACHINE, PLACE_NUMA, PLACE_MODULE,
                                                  PLACE_GPU, PLACE_GPU};
    for (int i = 0; i < PLACES; i++)
        graph_add_place(graph, kinds[i], i == GPU1);
    for (int i = NUMA; i < PLACES; i++)
        graph->places[i].parent = i >= GPU0 ? MODULE : MACHINE;
    graph_add_link(graph, GPU0, GPU1, LINK_XGMI)->nominal_bytes_per_s = 100 * GB;
    struct values *values = values_new();
    struct sets *sets = sets_new();
    for (place_id gpu = GPU0; gpu <= GPU1; gpu++) {
        struct value v = {.metric = METRIC_HOST_GPU_COPY_ENGINE,
                          .source = VALUE_MEASURED,
                          .from = gpu,
                          .to = NUMA,
                          .n = 9,
                          .value = 20 * GB,
                          .low = 19 * GB,
                          .high = 21 * GB};
        assert_true(values_add(values, &v, "", NULL));
    }
    struct set_flow both[] = {{GPU0, NUMA, (char *)"", 10 * GB, 9 * GB, 11 * GB},
                              {GPU1, NUMA, (char *)"", 10 * GB, 9 * GB, 11 * GB}};
    assert_true(sets_add(sets, &(struct set){.metric = METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT,
                                             .flow = both,
                                             .flow_count = 2}));
    return fault_snapshot(graph, values, sets);
}

static enum berth_code price(struct snapshot *snap, const void *question, struct berth_err *err)
{
    (void)question;
    static const place_id places[] = {GPU0, GPU1, NUMA};
    static const struct load_flow flows[] = {{.from = 0, .to = 2, .bytes = GB},
                                             {.from = 1, .to = 2, .bytes = GB},
                                             {.from = 0, .to = 1, .bytes = GB}};
    struct load_table *table = NULL;
    struct evidence evidence = {0};
    struct reasons warnings = {0};
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
    evidence_done(&evidence);
    plan_load_scratch_free(scratch);
    plan_load_free(table);
    return code;
}

static void prices_survive(void **state)
{
    (void)state;
    fault_each_place(make_snapshot, price, NULL, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(prices_survive)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
