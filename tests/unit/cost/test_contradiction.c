/* Sets that contradict a pair's own value, and the pairs that they leave unaffected. */
#include "unit/node/built_nodes.h"

#include "limits_found.h"

#define GPUS 8
#define SETS (GPUS + 2)
#define HALF 1e-3 /* relative, half an interval */

/* Copies of 8 gpus into one memory, 20 GB/s each, measured twice; own: the factor of gpu0's own
 * value. Two sets of several: gpu0 and gpu1, and gpu2 and gpu3, which share 30 GB/s, as all do. */
struct seen {
    struct limits *limits;
    struct snapshot *snap;
    struct sets *sets;
    size_t contradicting;
};

static struct set_flow flow_of(const struct graph *graph, int gpu, double rate)
{
    return (struct set_flow){nodes_place(graph, PLACE_GPU, gpu),
                             nodes_place(graph, PLACE_NUMA, 0),
                             (char *)"",
                             rate,
                             rate * (1 - HALF),
                             rate * (1 + HALF)};
}

static void add_set(struct sets *sets, struct set_flow *flow, size_t count)
{
    assert_true(sets_add(sets, &(struct set){.metric = METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT,
                                             .source = VALUE_MEASURED,
                                             .flow = flow,
                                             .flow_count = count}));
}

static struct seen see(double own, int changed, double noise)
{
    struct graph *graph = nodes_mi250x();
    struct values *values = values_new();
    struct seen seen = {.sets = sets_new()};
    assert_true(values != NULL && seen.sets != NULL);
    for (int g = 0; g < GPUS; g++) {
        double rate = 20 * GB * (g < changed ? own : 1 + (g % 2 == 0 ? noise : -noise));
        struct set_flow alone = flow_of(graph, g, 20 * GB);
        nodes_value(values, METRIC_HOST_GPU_COPY_ENGINE, VALUE_MEASURED, alone.from, alone.to, "",
                    rate, rate * (1 - HALF), rate * (1 + HALF));
        add_set(seen.sets, &alone, 1);
    }
    for (int g = 0; g < 4; g += 2) {
        struct set_flow both[] = {flow_of(graph, g, 15 * GB), flow_of(graph, g + 1, 15 * GB)};
        add_set(seen.sets, both, 2);
    }
    seen.snap = nodes_snapshot(graph, values);
    seen.limits = limits_new(graph, seen.sets, seen.snap->values);
    assert_true(seen.limits != NULL && seen.limits->run_count == SETS);
    for (size_t s = 0; s < SETS; s++)
        seen.contradicting += seen.limits->run[s].contradiction.value != NULL;
    return seen;
}

static void done(struct seen *seen)
{
    limits_free(seen->limits);
    snapshot_unref(seen->snap);
    sets_free(seen->sets);
}

static const struct contradiction *of_set(const struct seen *seen, size_t s)
{
    return &seen->limits->run[s].contradiction;
}

/* gpu0 is three times slower by its own value: its set of one and the set in which it got more
 * count for nothing, and nothing widens others. */
static void one_that_got_slower(void **state)
{
    (void)state;
    struct seen seen = see(1 / 3.0, 1, 0);
    const struct agreement *host = agreement_of(seen.limits->agree, TRANSFER_HOST_ENGINE);
    assert_int_equal(seen.contradicting, 2);
    assert_true(of_set(&seen, 0)->value->value < 7 * GB &&
                of_set(&seen, GPUS)->value == of_set(&seen, 0)->value);
    assert_int_equal(seen.sets->item[GPUS].flow[of_set(&seen, GPUS)->flow].from,
                     of_set(&seen, 0)->value->from);
    assert_true(seen.limits->run[0].predicted == NULL && seen.limits->run[GPUS].predicted == NULL &&
                seen.limits->run[1].predicted != NULL);
    assert_true(seen.limits->run[GPUS + 1].is_reproduced);
    assert_true(host->rates == GPUS - 1 && host->rate == 0);
    done(&seen);
}

/* Faster alone than the set of one says: what it got beside others, which is less, says as much of
 * them as before. */
static void one_that_got_faster(void **state)
{
    (void)state;
    struct seen seen = see(1.5, 1, 0);
    assert_int_equal(seen.contradicting, 1);
    assert_non_null(of_set(&seen, 0)->value);
    assert_true(seen.limits->run[GPUS].is_reproduced &&
                agreement_of(seen.limits->agree, TRANSFER_HOST_ENGINE)->rate == 0);
    done(&seen);
}

/* 10 % are much where the others agree, and nothing where they are 5 % apart. */
static void what_is_usual_is_no_contradiction(void **state)
{
    (void)state;
    struct seen quiet = see(0.9, 1, 0), noisy = see(0.9, 1, 0.05), little = see(0.96, 1, 0);
    assert_true(quiet.contradicting == 1 &&
                agreement_of(quiet.limits->agree, TRANSFER_HOST_ENGINE)->rate == 0);
    assert_true(noisy.contradicting == 0 &&
                agreement_of(noisy.limits->agree, TRANSFER_HOST_ENGINE)->rate > 0.04);
    assert_true(little.contradicting == 0 &&
                agreement_of(little.limits->agree, TRANSFER_HOST_ENGINE)->rate > 0.01);
    done(&quiet);
    done(&noisy);
    done(&little);
}

/* When all are as much slower nothing says what there is to be sure of: it is told, and the
 * intervals say it as well. */
static void all_that_got_slower(void **state)
{
    (void)state;
    struct seen seen = see(0.5, GPUS, 0);
    const struct agreement *host = agreement_of(seen.limits->agree, TRANSFER_HOST_ENGINE);
    assert_int_equal(seen.contradicting, SETS);
    assert_true(found_count(seen.limits) == 0 && host->rates == GPUS && host->rate > 0.6);
    done(&seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_got_slower), cmocka_unit_test(one_that_got_faster),
        cmocka_unit_test(what_is_usual_is_no_contradiction), cmocka_unit_test(all_that_got_slower)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
