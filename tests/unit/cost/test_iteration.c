#include "cost/evidence.h"
#include "unit/cost/together.h"

#include <time.h>

#include "node/reasons.h"
#include "node/transfer.h"
#include "unit/base/random.h"

#define GB 1e9

struct fixture {
    struct graph *graph;
    struct snapshot *snap;
    struct together together;
    place_id place[12]; /* gpu0 to gpu7, numa0 to numa3 */
};

#define NUMA(n) (8 + (n))

static void together(struct sets *sets, enum metric metric, size_t count, const place_id *from,
                     const place_id *to, double each)
{
    struct set_flow flow[8];
    for (size_t i = 0; i < count; i++)
        flow[i] = (struct set_flow){.from = from[i],
                                    .to = to[i],
                                    .axes = (char *)"",
                                    .bytes_per_s = each,
                                    .low = each * 0.99,
                                    .high = each * 1.01};
    struct set set = {.metric = metric, .flow = flow, .flow_count = count};
    assert_true(sets_add(sets, &set));
}

static void begin_table(struct fixture *f, struct values *values, struct sets *sets,
                        enum copy_by by)
{
    f->snap = nodes_snapshot_of(f->graph, values, sets);
    f->together = together_begin(f->snap, f->place, 12, by);
}

static void begin_node(struct fixture *f)
{
    f->graph = nodes_mi250x();
    for (int g = 0; g < 8; g++)
        f->place[g] = nodes_place(f->graph, PLACE_GPU, g);
    for (int n = 0; n < 4; n++)
        f->place[NUMA(n)] = nodes_place(f->graph, PLACE_NUMA, n);
}

/* To numa0 every gpu gets 20 GB/s, two of one module 20 together; between gpus 40 there, 40 back,
 * 60 both ways. */
static struct fixture begin(void)
{
    struct fixture f = {0};
    begin_node(&f);
    struct values *values = values_new();
    struct sets *sets = sets_new();
    assert_true(values != NULL && sets != NULL);
    for (int g = 0; g < 8; g++) {
        nodes_value(values, METRIC_HOST_GPU_COPY_ENGINE, VALUE_MEASURED, f.place[g],
                    f.place[NUMA(0)], "", 20 * GB, 19 * GB, 21 * GB);
        together(sets, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, 1, &f.place[g], &f.place[NUMA(0)],
                 20 * GB);
        for (int h = 0; h < 8; h++)
            if (g != h)
                nodes_value(values, METRIC_GPU_GPU_COPY_ENGINE, VALUE_MEASURED, f.place[g],
                            f.place[h], "", 40 * GB, 39 * GB, 41 * GB);
        for (int h = g + 1; h < 8; h++)
            nodes_value(values, METRIC_GPU_GPU_COPY_ENGINE, VALUE_MEASURED, f.place[g], f.place[h],
                        "direction=both", 60 * GB, 59 * GB, 61 * GB);
    }
    const place_id host[] = {f.place[NUMA(0)], f.place[NUMA(0)]};
    for (int m = 0; m < 4; m++)
        together(sets, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, 2, &f.place[2 * m], host, 10 * GB);
    together(sets, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, 2, (place_id[]){f.place[2], f.place[4]},
             host, 20 * GB);
    begin_table(&f, values, sets, COPY_BY_ENGINE);
    return f;
}

static void end(struct fixture *f)
{
    together_end(&f->together);
    snapshot_unref(f->snap);
}

static void those_that_share_a_port_slow_each_other(void **state)
{
    (void)state;
    struct fixture f = begin();
    const struct asked apart[] = {{2, NUMA(0), 2 * GB, 0}, {4, NUMA(0), 2 * GB, 0}};
    double time_ns = together_ns(&f.together, apart, 2);
    assert_within(time_ns, 100e6, 1e-6);
    /* Both at 10 GB/s until the smaller has ended, then the other alone. */
    const struct asked port[] = {{4, NUMA(0), 2 * GB, 0}, {5, NUMA(0), GB, 0}, {2, NUMA(0), GB, 0}};
    struct prediction whole = together_predict(&f.together, port, 3);
    assert_within(whole.time.time_ns, 150e6, 1e-6);
    assert_within(f.together.flow[1].end_ns, 100e6, 1e-6);
    assert_within(f.together.flow[2].end_ns, 50e6, 1e-6);
    assert_int_equal(whole.last, 0);
    assert_non_null(together_shared(&f.together, &whole));
    assert_string_equal(together_shared(&f.together, &whole)->name, "module2:host-port:out");
    assert_ptr_equal(f.together.flow[1].shared, together_shared(&f.together, &whole));
    assert_null(f.together.flow[2].shared);
    assert_int_equal(whole.time.source, SOURCE_MEASURED);
    assert_true(whole.time.low_ns < 150e6 && whole.time.high_ns > 150e6);
    end(&f);
}

static void both_directions_share_what_both_get(void **state)
{
    (void)state;
    struct fixture f = begin();
    const struct asked pair[] = {{0, 1, 3 * GB, 0}, {1, 0, 3 * GB, 0}};
    assert_within(together_ns(&f.together, pair, 1), 75e6, 1e-6);
    struct prediction whole = together_predict(&f.together, pair, 2);
    assert_within(whole.time.time_ns, 100e6, 1e-6);
    assert_non_null(together_shared(&f.together, &whole));
    assert_non_null(together_shared(&f.together, &whole)->value);
    assert_ptr_equal(f.together.flow[0].shared, f.together.flow[1].shared);
    end(&f);
}

/* A step is begun by callers: the first transfer of each costs what its clock sees, each further
 * one as much more as it keeps its caller. */
static void each_caller_starts_its_own(void **state)
{
    (void)state;
    struct fixture f = {0};
    begin_node(&f);
    struct values *values = values_new();
    char axes[TRANSFER_AXES_MAX];
    assert_non_null(values);
    for (int g = 0; g < 8; g++)
        for (int h = 0; h < 8; h++) {
            if (g == h)
                continue;
            nodes_value(values, METRIC_GPU_GPU_COPY_ENGINE, VALUE_MEASURED, f.place[g], f.place[h],
                        "", 40 * GB, 39 * GB, 41 * GB);
            transfer_overhead_axes(METRIC_GPU_GPU_COPY_ENGINE, "", TRANSFER_QUEUE, axes,
                                   sizeof axes);
            nodes_value(values, METRIC_TRANSFER_OVERHEAD, VALUE_MEASURED, f.place[g], f.place[h],
                        axes, 2000, 2000, 2000);
            transfer_overhead_axes(METRIC_GPU_GPU_COPY_ENGINE, "", TRANSFER_CALL, axes,
                                   sizeof axes);
            nodes_value(values, METRIC_TRANSFER_OVERHEAD, VALUE_MEASURED, f.place[g], f.place[h],
                        axes, 7000, 7000, 7000);
        }
    begin_table(&f, values, NULL, COPY_BY_ENGINE);
    const struct asked own[] = {{0, 1, 40000, 0}, {2, 3, 40000, 0}},
                       one[] = {{0, 1, 40000, 0}, {0, 2, 40000, 1}, {0, 3, 40000, 2}};
    assert_within(together_alone_ns(&f.together, 0, 1, 40000), 8000, 1e-6);
    assert_within(together_ns(&f.together, own, 2), 8000, 1e-6);
    assert_within(together_ns(&f.together, one, 3), 12000, 1e-6);
    assert_within(f.together.flow[1].end_ns, 10000, 1e-6);
    end(&f);
}

static void a_place_itself_takes_no_time(void **state)
{
    (void)state;
    struct fixture f = begin();
    const struct asked flows[] = {{3, 3, 5 * GB, 0}, {3, NUMA(0), 0, 0}};
    struct prediction whole = together_predict(&f.together, flows, 2);
    assert_true(whole.time.time_ns == 0);
    assert_true(together_alone_ns(&f.together, 3, 3, GB) == 0);
    end(&f);
}

static struct reasons cited(struct fixture *f, const struct asked *flows, size_t count,
                            size_t *ret_sets)
{
    struct evidence evidence = {0};
    struct reasons warnings = together_why(&f->together, flows, count, &evidence);
    *ret_sets = 0;
    for (size_t i = 0; i < evidence.count; i++)
        *ret_sets += evidence.set[i] != NULL;
    evidence_done(&evidence);
    return warnings;
}

/* The set that shows what is shared is cited, the smallest with the transfer itself; nothing is
 * warned of where all is measured. */
static void what_is_shared_is_cited(void **state)
{
    (void)state;
    struct fixture f = begin();
    const struct asked port[] = {{4, NUMA(0), 2 * GB, 0}, {5, NUMA(0), 2 * GB, 0}};
    size_t sets;
    struct reasons warnings = cited(&f, port, 2, &sets);
    assert_int_equal(sets, 1);
    assert_int_equal(warnings.count, 0);
    end(&f);
}

/* Gpu0 gets more beside another than alone: nothing that is shared explains it. */
static void what_is_not_explained_is_named(void **state)
{
    (void)state;
    struct fixture f = {0};
    begin_node(&f);
    struct values *values = values_new();
    struct sets *sets = sets_new();
    assert_true(values != NULL && sets != NULL);
    const place_id host[] = {f.place[NUMA(0)], f.place[NUMA(0)], f.place[NUMA(0)]};
    for (int g = 0; g < 8; g++)
        together(sets, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, 1, &f.place[g], host, 20 * GB);
    together(sets, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, 2, (place_id[]){f.place[0], f.place[2]},
             host, 30 * GB);
    together(sets, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, 2, (place_id[]){f.place[4], f.place[6]},
             host, 20 * GB);
    begin_table(&f, values, sets, COPY_BY_ENGINE);
    const struct asked those[] = {{0, NUMA(0), GB, 0}, {2, NUMA(0), GB, 0}},
                       others[] = {{4, NUMA(0), GB, 0}, {6, NUMA(0), GB, 0}};
    size_t count;
    /* of the set of one: nothing else says it */
    assert_within(together_alone_ns(&f.together, 4, NUMA(0), GB), 50e6, 1e-6);
    struct reasons warnings = cited(&f, those, 2, &count);
    const struct reason *reason = reason_with(&warnings, REASON_RUN_UNEXPLAINED);
    assert_true(reason != NULL && reason->number[0] == 20 * GB && reason->number[1] == 30 * GB);
    assert_string_equal(reason->subject[0], "gpu0>numa0");
    warnings = cited(&f, others, 2, &count);
    assert_null(reason_with(&warnings, REASON_RUN_UNEXPLAINED));
    end(&f);
}

/* By engine two of a module share 20 GB/s, as measured; by kernel nobody measured it, nor one of
 * each. */
static void kinds_that_were_not_measured_together_are_said(void **state)
{
    (void)state;
    struct fixture f = {0};
    begin_node(&f);
    struct values *values = values_new();
    struct sets *sets = sets_new();
    assert_true(values != NULL && sets != NULL);
    const place_id host[] = {f.place[NUMA(0)], f.place[NUMA(0)]};
    for (int g = 4; g < 6; g++) {
        /* gpu4 is faster by engine, gpu5 by kernel */
        nodes_value(values, METRIC_HOST_GPU_COPY_ENGINE, VALUE_MEASURED, f.place[g], host[0], "",
                    (g == 4 ? 20 : 15) * GB, NAN, NAN);
        nodes_value(values, METRIC_HOST_GPU_KERNEL, VALUE_MEASURED, f.place[g], host[0], "",
                    (g == 4 ? 15 : 18) * GB, NAN, NAN);
    }
    together(sets, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, 2, &f.place[4], host, 10 * GB);
    begin_table(&f, values, sets, COPY_BEST);
    const struct asked both[] = {{4, NUMA(0), GB, 0}, {5, NUMA(0), GB, 0}};
    struct prediction whole = together_predict(&f.together, both, 2);
    assert_true(f.together.flow[0].user->alone.by == MECHANISM_COPY_ENGINE &&
                f.together.flow[1].user->alone.by == MECHANISM_KERNEL);
    assert_within(whole.time.time_ns, 100e6, 1e-6);
    assert_true(together_shared(&f.together, &whole) != NULL &&
                limits_is_stated(together_shared(&f.together, &whole)) &&
                whole.time.source == SOURCE_NOMINAL && isnan(whole.time.low_ns));
    assert_string_equal(together_shared(&f.together, &whole)->name, "module2:host-port:out");
    end(&f);
}

/* Both directions of a module's port carry 24 GB/s by engine, as measured; by kernel nobody
 * measured it. */
static void what_one_kind_showed_of_both_directions_stands_for_others(void **state)
{
    (void)state;
    struct fixture f = {0};
    begin_node(&f);
    struct values *values = values_new();
    struct sets *sets = sets_new();
    assert_true(values != NULL && sets != NULL);
    place_id host = f.place[NUMA(0)], from[4], to[4];
    for (int i = 0; i < 4; i++) {
        from[i] = i < 2 ? f.place[4 + i] : host;
        to[i] = i < 2 ? host : f.place[2 + i];
        nodes_value(values, METRIC_HOST_GPU_COPY_ENGINE, VALUE_MEASURED, from[i], to[i], "",
                    10 * GB, NAN, NAN);
        nodes_value(values, METRIC_HOST_GPU_KERNEL, VALUE_MEASURED, from[i], to[i], "", 12 * GB,
                    NAN, NAN);
        together(sets, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, 1, &from[i], &to[i], 10 * GB);
    }
    together(sets, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, 2, from, to, 10 * GB);
    together(sets, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, 2, from + 2, to + 2, 10 * GB);
    together(sets, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, 4, from, to, 6 * GB);
    begin_table(&f, values, sets, COPY_BEST);
    const struct asked flows[] = {{4, NUMA(0), 6 * GB, 0},
                                  {5, NUMA(0), 6 * GB, 0},
                                  {NUMA(0), 4, 6 * GB, 0},
                                  {NUMA(0), 5, 6 * GB, 0}};
    struct prediction whole = together_predict(&f.together, flows, 4);
    assert_within(whole.time.time_ns, 1e9, 1e-6);
    assert_true(together_shared(&f.together, &whole) != NULL &&
                limits_is_stated(together_shared(&f.together, &whole)) &&
                together_shared(&f.together, &whole)->source == LIMIT_OTHER_RUNS);
    end(&f);
}

/* What must hold whatever the flows are. */
static void no_step_is_below_its_bounds(void **state)
{
    (void)state;
    struct fixture f = begin();
    uint64_t seed = 7;
    for (int trial = 0; trial < 2000; trial++) {
        struct asked flows[16] = {{0}}, larger[16] = {{0}};
        size_t count = 1 + (size_t)(random_uniform(&seed) * 16);
        for (size_t i = 0; i < count; i++) {
            flows[i].from = (random_uniform(&seed) * 8);
            flows[i].to = random_uniform(&seed) < 0.5 ? NUMA(0) : (random_uniform(&seed) * 8);
            flows[i].bytes = random_uniform(&seed) * GB;
            larger[i] = flows[i];
            larger[i].bytes *= 2;
        }
        double time_ns = together_ns(&f.together, flows, count);
        for (size_t i = 0; i < count; i++)
            assert_true(time_ns >=
                        together_alone_ns(&f.together, flows[i].from, flows[i].to, flows[i].bytes) *
                            (1 - 1e-9));
        assert_within(together_ns(&f.together, larger, count), 2 * time_ns, 1e-6);
        struct prediction whole = together_predict(&f.together, flows, count);
        assert_within(whole.time.time_ns, time_ns, 1e-6);
        assert_within(f.together.flow[whole.last].end_ns, time_ns, 1e-6);
        struct asked first = flows[0];
        flows[0] = flows[count - 1];
        flows[count - 1] = first;
        assert_within(together_ns(&f.together, flows, count), time_ns, 1e-6);
    }
    end(&f);
}

static void a_search_can_afford_it(void **state)
{
    (void)state;
    struct fixture f = begin();
    struct asked flows[8];
    for (uint16_t i = 0; i < 8; i++)
        flows[i] = (struct asked){i, i < 4 ? NUMA(0) : ((i + 1) % 8), GB, 0};
    double best_ns = INFINITY;
    for (int round = 0; round < 20; round++) {
        struct timespec before, after;
        clock_gettime(CLOCK_MONOTONIC, &before);
        double sum = 0;
        for (int i = 0; i < 1000; i++)
            sum += together_ns(&f.together, flows, 8);
        clock_gettime(CLOCK_MONOTONIC, &after);
        assert_true(sum > 0);
        best_ns = fmin(best_ns, (double)(after.tv_sec - before.tv_sec) * 1e6 +
                                    (double)(after.tv_nsec - before.tv_nsec) / 1e3);
    }
    print_message("8 flows in %.0f ns\n", best_ns);
    /* far above what it takes: under a sanitizer, on a busy machine */
    assert_true(best_ns < 20000);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_that_share_a_port_slow_each_other),
        cmocka_unit_test(both_directions_share_what_both_get),
        cmocka_unit_test(each_caller_starts_its_own),
        cmocka_unit_test(a_place_itself_takes_no_time),
        cmocka_unit_test(what_is_shared_is_cited),
        cmocka_unit_test(what_is_not_explained_is_named),
        cmocka_unit_test(kinds_that_were_not_measured_together_are_said),
        cmocka_unit_test(what_one_kind_showed_of_both_directions_stands_for_others),
        cmocka_unit_test(no_step_is_below_its_bounds),
        cmocka_unit_test(a_search_can_afford_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
