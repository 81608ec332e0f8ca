#include "unit/node/built_nodes.h"

#include "cost/agreement.h"
#include "node/transfer.h"

#define GB 1e9

/* queue_off: what every other one takes more in a queue; NAN not known. */
static struct agreement agreed(double off, double half, double call_off, double queue_off)
{
    struct graph *graph = nodes_mi250x();
    struct values *values = values_new();
    struct sets *sets = sets_new();
    struct agreement all[AGREE_KINDS];
    char axes[TRANSFER_AXES_MAX], queue[TRANSFER_AXES_MAX];
    assert_true(values != NULL && sets != NULL);
    place_id numa = nodes_place(graph, PLACE_NUMA, 0);
    transfer_overhead_axes(METRIC_HOST_GPU_COPY_ENGINE, "", TRANSFER_CALL, axes, sizeof axes);
    transfer_overhead_axes(METRIC_HOST_GPU_COPY_ENGINE, "", TRANSFER_QUEUE, queue, sizeof queue);
    for (int g = 0; g < 8; g++) {
        place_id gpu = nodes_place(graph, PLACE_GPU, g);
        double rate = 20 * GB * (1 + (g % 2 == 0 ? off : -off));
        struct set_flow flow = {gpu, numa, (char *)"", rate, rate * (1 - half), rate * (1 + half)};
        nodes_value(values, METRIC_HOST_GPU_COPY_ENGINE, VALUE_MEASURED, gpu, numa, "", 20 * GB,
                    20 * GB * (1 - half), 20 * GB * (1 + half));
        nodes_value(values, METRIC_TRANSFER_OVERHEAD, VALUE_MEASURED, gpu, numa, axes,
                    7000 * (g % 2 == 0 ? 1 + call_off : 1), NAN, NAN);
        if (!isnan(queue_off))
            nodes_value(values, METRIC_TRANSFER_OVERHEAD, VALUE_MEASURED, gpu, numa, queue,
                        2000 * (g % 2 == 0 ? 1 + queue_off : 1), NAN, NAN);
        assert_true(sets_add(sets, &(struct set){.metric = METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT,
                                                 .source = VALUE_MEASURED,
                                                 .flow = &flow,
                                                 .flow_count = 1}));
    }
    struct snapshot *snap = nodes_snapshot(graph, values);
    agreement_find(graph, snap->values, sets, NULL, all);
    assert_null(agreement_of(all, TRANSFER_NETWORK));
    assert_true(agreement_of(all, TRANSFER_PEER_ENGINE)->rates == 0 &&
                agreement_of(all, TRANSFER_PEER_ENGINE)->calls == 0);
    struct agreement host = *agreement_of(all, TRANSFER_HOST_ENGINE);
    snapshot_unref(snap);
    sets_free(sets);
    return host;
}

/* Rates 3 % apart with intervals of 0.1 % differ from one time to the next; with intervals of 3 %
 * nothing says so. */
static void what_intervals_do_not_explain_is_drift(void **state)
{
    (void)state;
    struct agreement sharp = agreed(0.03, 0.001, 0, NAN), blunt = agreed(0.03, 0.05, 0, NAN);
    assert_int_equal(sharp.rates, 8);
    assert_true(sharp.rate > 0.028 && sharp.rate < 0.032);
    assert_true(blunt.rates == 8 && blunt.rate == 0);
}

static void calls_that_are_alike_say_how_far_they_are_apart(void **state)
{
    (void)state;
    struct agreement same = agreed(0, 0.001, 0, NAN), apart = agreed(0, 0.001, 0.05, 0.01);
    assert_true(same.calls == 7 && same.call == 0 && same.rate == 0);
    assert_true(apart.calls == 7 && apart.call > 0.047 && apart.call < 0.05);
    /* Farther on the device as well is no disagreement: only those that start alike are looked at.
     */
    struct agreement farther = agreed(0, 0.001, 0.05, 0.2);
    assert_true(farther.calls == 6 && farther.call == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_intervals_do_not_explain_is_drift),
        cmocka_unit_test(calls_that_are_alike_say_how_far_they_are_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
