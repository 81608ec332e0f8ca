/* Order in which old values are measured again, and the budget for it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "measure/duty.h"
#include "measure/freshness.h"

#define GPUS  3
#define OLD_S 1000
#define NOW   INT64_C(1000000)
#define MOST  METRIC_COUNT

/* A node of two cores, a NUMA node and some GPUs, and values that a test adds. */
struct world {
    struct graph *graph;
    struct values *values;
    struct freshness freshness;
    place_id core[2], numa, gpu[GPUS];
};

static int setup(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    struct berth_err err = {0};
    world->graph = graph_new();
    graph_add_place(world->graph, PLACE_MACHINE, 0);
    world->numa = graph_add_place(world->graph, PLACE_NUMA, 0);
    for (int i = 0; i < 2; i++)
        world->core[i] = graph_add_place(world->graph, PLACE_CORE, i);
    for (int i = 0; i < GPUS; i++)
        world->gpu[i] = graph_add_place(world->graph, PLACE_GPU, i);
    for (size_t i = 1; i < world->graph->place_count; i++)
        world->graph->places[i].parent = 0;
    memcpy(world->graph->fingerprint, "0123456789abcdef0123456789abcdef", 33);
    assert_int_equal(graph_finish(world->graph, &err), BERTH_OK);
    world->values = values_new();
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;
    freshness_done(&world->freshness);
    values_free(world->values);
    graph_unref(world->graph);
    free(world);
    return 0;
}

static void add(struct world *world, enum metric metric, place_id from, place_id to, int64_t age_s,
                double number)
{
    const struct value v = {.metric = metric,
                            .source = VALUE_MEASURED,
                            .from = from,
                            .to = to,
                            .value = number,
                            .low = number,
                            .high = number,
                            .n = 9,
                            .measured_at_s = NOW - age_s};
    assert_true(values_add(world->values, &v, "", isnan(number) ? "out of time" : NULL));
}

/* Takes the world's values. */
static struct snapshot *snapshot_of(struct world *world)
{
    struct values *values = world->values;
    values_finish(values);
    world->values = values_new();
    return snapshot_new(world->graph, values, NULL, 0, NOW, 1);
}

static int64_t oldest_s; /* of the latest choice */

static struct freshness_unit next(struct world *world, const struct snapshot *snapshot,
                                  int64_t now_s, unsigned most)
{
    struct freshness_unit unit;
    struct berth_err err = {0};
    assert_int_equal(freshness_next(&world->freshness, snapshot, OLD_S, now_s, most, NULL, &unit,
                                    &oldest_s, &err),
                     BERTH_OK);
    return unit;
}

static void nothing_is_begun_that_was_not_measured(void **state)
{
    struct world *world = *state;
    add(world, METRIC_GPU_STREAM, world->gpu[0], world->gpu[0], 9999, (double)NAN);
    const struct value stated = {.metric = METRIC_HOST_GPU_KERNEL,
                                 .source = VALUE_NOMINAL,
                                 .from = world->numa,
                                 .to = world->gpu[0],
                                 .value = 1};
    assert_true(values_add(world->values, &stated, "", NULL));
    struct snapshot *snapshot = snapshot_of(world);
    assert_int_equal(next(world, snapshot, NOW, MOST).place, PLACE_NONE);
    snapshot_unref(snapshot);
}

static void the_oldest_tells_when_it_is_due(void **state)
{
    struct world *world = *state;
    add(world, METRIC_CPU_PINGPONG, world->core[0], world->core[1], 400, 100);
    add(world, METRIC_CPU_COPY, world->core[1], world->core[0], 700, 100);
    struct snapshot *snapshot = snapshot_of(world);
    struct freshness_unit unit = next(world, snapshot, NOW, MOST);
    assert_int_equal(unit.place, world->core[1]);
    assert_int_equal(unit.due_s, NOW + 300);
    assert_int_equal(unit.first, METRIC_CPU_COPY);
    unit = next(world, snapshot, NOW + 299, MOST);
    assert_int_equal(unit.due_s, NOW + 300);
    snapshot_unref(snapshot);
}

/* Its values and attempts are of later times then. Each is measured once more, not again and again:
 * the store may keep the value of the later time. */
static void a_clock_set_back_makes_all_due_once(void **state)
{
    struct world *world = *state;
    const int64_t back_s = NOW / 2;
    add(world, METRIC_CPU_COPY, world->core[1], world->core[0], 700, 100);
    struct snapshot *snapshot = snapshot_of(world);
    struct freshness_unit unit = next(world, snapshot, NOW + 300, MOST);
    freshness_try(&world->freshness, &unit, NOW + 300);
    unit = next(world, snapshot, back_s, MOST);
    assert_true(unit.due_s <= back_s);
    freshness_try(&world->freshness, &unit, back_s);
    assert_int_equal(next(world, snapshot, back_s + 1, MOST).due_s, back_s + OLD_S);
    snapshot_unref(snapshot);
}

/* The first look was at a time that is an hour ahead now. */
static void a_clock_set_back_delays_no_second_look(void **state)
{
    struct world *world = *state;
    const int64_t back_s = NOW - 3600;
    add(world, METRIC_CPU_COPY, world->core[1], world->core[0], 0, 100);
    add(world, METRIC_GPU_STREAM, world->gpu[0], world->gpu[0], 3700, 100);
    struct snapshot *snapshot = snapshot_of(world);
    struct second_look look = {METRIC_CPU_COPY, world->core[1], world->core[0], NOW + 120};
    snapshot->second_look = calloc(1, sizeof look);
    snapshot->second_look[0] = look;
    snapshot->second_look_count = 1;
    struct freshness_unit unit = next(world, snapshot, back_s, MOST);
    assert_true(unit.place == world->core[1] && unit.is_wanted && unit.due_s <= back_s);
    freshness_try(&world->freshness, &unit, back_s);
    /* once more in two minutes, should the value stay */
    unit = next(world, snapshot, back_s + 1, MOST);
    assert_true(unit.place == world->core[1] && unit.due_s == back_s + 120);
    snapshot_unref(snapshot);
}

static void a_value_with_a_gpu_is_measured_at_the_gpu(void **state)
{
    struct world *world = *state;
    add(world, METRIC_HOST_GPU_KERNEL, world->numa, world->gpu[1], 2000, 100);
    struct snapshot *snapshot = snapshot_of(world);
    assert_int_equal(next(world, snapshot, NOW, MOST).place, world->gpu[1]);
    snapshot_unref(snapshot);
}

static void metrics_that_plans_rest_on_go_first_and_others_join(void **state)
{
    struct world *world = *state;
    add(world, METRIC_KIND_COPY, world->gpu[0], world->gpu[0], 9000, 100);
    add(world, METRIC_GPU_STREAM, world->gpu[1], world->gpu[1], 2000, 100);
    add(world, METRIC_KIND_COPY, world->gpu[1], world->gpu[1], 3000, 100);
    add(world, METRIC_ALLOCATION, world->gpu[1], world->numa, 10, 100);         /* fresh */
    add(world, METRIC_CPU_PINGPONG, world->core[0], world->core[1], 1999, 100); /* another probe */
    struct snapshot *snapshot = snapshot_of(world);
    struct freshness_unit unit = next(world, snapshot, NOW, MOST);
    assert_int_equal(unit.place, world->gpu[1]);
    assert_int_equal(unit.first, METRIC_GPU_STREAM);
    assert_true(unit.metric[METRIC_GPU_STREAM] && unit.metric[METRIC_KIND_COPY]);
    assert_false(unit.metric[METRIC_ALLOCATION] || unit.metric[METRIC_CPU_PINGPONG]);
    unit = next(world, snapshot, NOW, 1);
    assert_true(unit.metric[METRIC_GPU_STREAM] && !unit.metric[METRIC_KIND_COPY]);
    snapshot_unref(snapshot);
}

/* The values stay old, as of cells that cannot be measured: each place has its turn, and then the
 * rest of freshness_s. */
static void gpus_take_turns_and_an_attempt_counts(void **state)
{
    struct world *world = *state;
    for (int i = 0; i < GPUS; i++)
        add(world, METRIC_GPU_STREAM, world->gpu[i], world->gpu[i], 2000 + i, 100);
    struct snapshot *snapshot = snapshot_of(world);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < GPUS; i++) {
            int64_t now_s = NOW + 1100 * round + i;
            struct freshness_unit unit = next(world, snapshot, now_s, MOST);
            assert_true(unit.due_s <= now_s);
            /* the oldest first, later the one tried longest ago */
            assert_int_equal(unit.place, world->gpu[GPUS - 1 - i]);
            freshness_try(&world->freshness, &unit, now_s);
        }
    struct freshness_unit unit = next(world, snapshot, NOW + 2200 + GPUS, MOST);
    assert_int_equal(unit.due_s, NOW + 2200 + OLD_S);
    snapshot_unref(snapshot);
}

/* Cells of the full profile, for example. */
static void the_oldest_is_of_those_that_attempts_renew(void **state)
{
    struct world *world = *state;
    add(world, METRIC_GPU_STREAM, world->gpu[0], world->gpu[0], 3000, 100);
    add(world, METRIC_KIND_COPY, world->gpu[0], world->gpu[0], 100, 100);
    add(world, METRIC_GPU_STREAM, world->gpu[1], world->gpu[1], 2000, 100);
    struct snapshot *snapshot = snapshot_of(world);
    struct freshness_unit unit = next(world, snapshot, NOW, MOST);
    assert_int_equal(unit.place, world->gpu[0]);
    assert_int_equal(oldest_s, NOW - 3000);
    freshness_try(&world->freshness, &unit, NOW);
    next(world, snapshot, NOW, MOST);
    assert_int_equal(oldest_s, NOW - 2000);
    snapshot_unref(snapshot);
}

static void a_change_is_looked_at_from_both_ends_once(void **state)
{
    struct world *world = *state;
    struct freshness_unit unit;
    for (int i = 0; i < GPUS; i++) {
        add(world, METRIC_GPU_GPU_KERNEL, world->gpu[i], world->gpu[(i + 1) % GPUS], 10, 100);
        add(world, METRIC_HOST_GPU_KERNEL, world->numa, world->gpu[i], 10, 100);
    }
    struct snapshot *before = snapshot_of(world);
    add(world, METRIC_GPU_GPU_KERNEL, world->gpu[0], world->gpu[1], 0, 80); /* changed */
    add(world, METRIC_GPU_GPU_KERNEL, world->gpu[2], world->gpu[0], 0, 99); /* noise */
    add(world, METRIC_HOST_GPU_KERNEL, world->numa, world->gpu[0], 0, 100);
    struct snapshot *after = snapshot_of(world);
    next(world, before, NOW, MOST); /* the graph */
    unit = (struct freshness_unit){.place = world->gpu[0], .first = METRIC_GPU_GPU_KERNEL};
    unit.metric[METRIC_GPU_GPU_KERNEL] = unit.metric[METRIC_HOST_GPU_KERNEL] = true;
    freshness_compare(&world->freshness, &unit, before, after, NOW);
    unit = next(world, after, NOW, MOST);
    assert_true(unit.is_wanted && unit.due_s <= NOW);
    assert_int_equal(unit.place, world->gpu[1]);
    assert_false(unit.metric[METRIC_HOST_GPU_KERNEL]);
    freshness_try(&world->freshness, &unit, NOW);
    /* what changes there in turn is no reason */
    freshness_compare(&world->freshness, &unit, after, before, NOW);
    assert_true(next(world, after, NOW, MOST).due_s > NOW);
    snapshot_unref(before);
    snapshot_unref(after);
}

static void a_change_with_the_host_is_looked_at_from_another_gpu(void **state)
{
    struct world *world = *state;
    struct freshness_unit unit = {.place = world->gpu[0]};
    for (int i = 0; i < GPUS; i++)
        add(world, METRIC_HOST_GPU_KERNEL, world->numa, world->gpu[i], 10, 100);
    struct snapshot *before = snapshot_of(world);
    add(world, METRIC_HOST_GPU_KERNEL, world->numa, world->gpu[0], 0, 50);
    for (int i = 1; i < GPUS; i++)
        add(world, METRIC_HOST_GPU_KERNEL, world->numa, world->gpu[i], 10, 100);
    struct snapshot *after = snapshot_of(world);
    next(world, before, NOW, MOST);
    unit.metric[METRIC_HOST_GPU_KERNEL] = true;
    freshness_compare(&world->freshness, &unit, before, after, NOW);
    unit = next(world, after, NOW, MOST);
    assert_true(unit.is_wanted);
    assert_int_equal(unit.place, world->gpu[1]);
    snapshot_unref(before);
    snapshot_unref(after);
}

static void a_core_that_is_only_a_target_has_its_turn_after_a_change(void **state)
{
    struct world *world = *state;
    struct freshness_unit unit = {.place = world->core[0]};
    add(world, METRIC_CPU_PINGPONG, world->core[0], world->core[1], 10, 100);
    struct snapshot *before = snapshot_of(world);
    add(world, METRIC_CPU_PINGPONG, world->core[0], world->core[1], 0, 150);
    struct snapshot *after = snapshot_of(world);
    next(world, before, NOW, MOST);
    unit.metric[METRIC_CPU_PINGPONG] = true;
    freshness_compare(&world->freshness, &unit, before, after, NOW);
    unit = next(world, after, NOW, MOST);
    assert_true(unit.is_wanted);
    assert_int_equal(unit.place, world->core[1]);
    snapshot_unref(before);
    snapshot_unref(after);
}

/* ---- duty ---- */

#define SECOND UINT64_C(1000000000)

enum { RUNS = 3000 };

/* Runs of these costs in turn, as early as the budget allows. */
struct runs {
    double end_s[RUNS], cost_s[RUNS];
};

static void carry_out(struct runs *runs, const double *costs, size_t count, double percent)
{
    struct duty duty = {0};
    uint64_t now_ns = 5 * SECOND;
    for (int i = 0; i < RUNS; i++) {
        uint64_t cost_ns = (uint64_t)(costs[(size_t)i % count] * 1e9);
        now_ns = duty_begin_ns(&duty, now_ns, cost_ns, percent) + cost_ns;
        duty_charge(&duty, now_ns, cost_ns, percent);
        runs->end_s[i] = (double)now_ns / 1e9;
        runs->cost_s[i] = costs[(size_t)i % count];
    }
}

/* Returns the largest sum of any window, apart from a run that is alone in it. */
static double worst_of(const struct runs *runs, double window_s)
{
    double worst_s = 0;
    for (int i = 0; i < RUNS; i++) {
        double sum_s = 0;
        int j = i;
        for (; j >= 0 && runs->end_s[j] > runs->end_s[i] - window_s; j--)
            sum_s += runs->cost_s[j];
        if (j < i - 1 && sum_s > worst_s)
            worst_s = sum_s;
    }
    return worst_s;
}

static void no_time_costs_more_than_its_share(void **state)
{
    static const struct {
        double costs[4];
        size_t count;
        double least_s; /* of an hour */
    } cases[] = {
        {{0.01}, 1, 3.4}, {{0.06}, 1, 3.2}, {{0.29}, 1, 3.0}, {{0.3}, 1, 2.9},
        {{0.5}, 1, 2.5},  {{1}, 1, 2.9},    {{1.7}, 1, 3.3},  {{0.05, 0.9, 0.2, 0.6}, 4, 2.5},
        {{0.01, 3}, 2, 0}};
    static struct runs runs;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        carry_out(&runs, cases[i].costs, cases[i].count, 0.1);
        double minutes_s = worst_of(&runs, 600), hour_s = worst_of(&runs, 3600);
        if (!(minutes_s <= 0.6 + 1e-6 && hour_s <= 3.6 + 1e-6 && hour_s >= cases[i].least_s))
            fail_msg("case %zu: %g s in ten minutes, %g s in an hour", i, minutes_s, hour_s);
    }
    carry_out(&runs, (const double[]){1}, 1, 10);
    assert_true(worst_of(&runs, 600) <= 60 && worst_of(&runs, 3600) > 300);
}

static void the_spent_time_is_that_of_the_last_hour_and_day(void **state)
{
    (void)state;
    struct duty duty = {0};
    uint64_t begin_ns = 123456 * SECOND;
    duty_charge(&duty, begin_ns, 7 * SECOND, 0.1);
    duty_charge(&duty, begin_ns + 1800 * SECOND, SECOND, 0.1);
    assert_int_equal(duty_hour_ns(&duty, begin_ns + 1800 * SECOND), 8 * SECOND);
    assert_int_equal(duty_hour_ns(&duty, begin_ns + 3700 * SECOND), SECOND);
    assert_int_equal(duty_hour_ns(&duty, begin_ns + 9999 * SECOND), 0);
    assert_int_equal(duty_day_ns(&duty, begin_ns + 9999 * SECOND), 8 * SECOND);
    assert_int_equal(duty_day_ns(&duty, begin_ns + 100000 * SECOND), 0);
    duty_charge(&duty, begin_ns + 1000000 * SECOND, SECOND, 0.1);
    assert_int_equal(duty_hour_ns(&duty, begin_ns + 1000000 * SECOND), SECOND);
    assert_int_equal(duty_day_ns(&duty, begin_ns + 1000000 * SECOND), SECOND);
    duty_charge(&duty, begin_ns, UINT64_MAX / 2, 0.000001); /* no overflow */
    assert_true(duty.paced_ns > begin_ns);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_begun_that_was_not_measured),
        TEST(the_oldest_tells_when_it_is_due),
        TEST(a_clock_set_back_makes_all_due_once),
        TEST(a_clock_set_back_delays_no_second_look),
        TEST(a_value_with_a_gpu_is_measured_at_the_gpu),
        TEST(metrics_that_plans_rest_on_go_first_and_others_join),
        TEST(gpus_take_turns_and_an_attempt_counts),
        TEST(the_oldest_is_of_those_that_attempts_renew),
        TEST(a_change_is_looked_at_from_both_ends_once),
        TEST(a_change_with_the_host_is_looked_at_from_another_gpu),
        TEST(a_core_that_is_only_a_target_has_its_turn_after_a_change),
        cmocka_unit_test(no_time_costs_more_than_its_share),
        cmocka_unit_test(the_spent_time_is_that_of_the_last_hour_and_day),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
