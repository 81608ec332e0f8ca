/* Every allocation of pricing transfers together fails once: there is an error or the same answer,
 * never a crash, and nothing stays behind. */
#include "cost/evidence.h"
#include "cost/iteration.h"
#include "cost/iteration_why.h"
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
    static const place_id ends[][2] = {{GPU0, NUMA}, {GPU1, NUMA}, {GPU0, GPU1}};
    struct flow flows[3];
    struct evidence evidence = {0};
    struct reasons warnings = {0};
    struct iteration *iteration = iteration_new(snap->derived.usage, 3);
    enum berth_code code = BERTH_OK;
    if (iteration == NULL)
        code = err_set(err, BERTH_NO_MEMORY, "no memory for transfers");
    for (size_t i = 0; i < 3; i++) {
        const struct user *user =
            usage_choose(snap->derived.usage, ends[i][0], ends[i][1], GB, COPY_BEST);
        assert_non_null(user);
        flows[i] = iteration_flow(user, GB);
    }
    if (code == BERTH_OK) {
        double time_ns = iteration_run(iteration, flows, 3, ITERATION_EXPECTED);
        assert_true(time_ns > 99.99e6 && time_ns < 100.01e6);
        iteration_warn_of_transfers(snap, flows, 3, "", &warnings);
        iteration_cite(snap, flows, 3, 0, &evidence, 0);
        code = evidence_code(&evidence, err);
        assert_true(warnings.count > 0 && (code != BERTH_OK || evidence.count >= 3));
    }
    evidence_done(&evidence);
    iteration_free(iteration);
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
