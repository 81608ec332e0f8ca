/* Predictions from concurrent transfers that were measured: of as many, of more, of the same ones.
 * Their intervals cover unmeasured effects. */
#include "cost/evidence.h"
#include "unit/cost/together.h"

#include "node/transfer.h"

#define GB 1e9

struct fixture {
    struct graph *graph;
    struct values *values;
    struct sets *sets;
    struct snapshot *snap;
    struct together together;
    place_id place[12]; /* gpu0 to gpu7, numa0 to numa3 */
};

#define NUMA(n) (8 + (n))

static struct fixture begin(void)
{
    struct fixture f = {.graph = nodes_mi250x(), .values = values_new(), .sets = sets_new()};
    assert_true(f.values != NULL && f.sets != NULL);
    for (int g = 0; g < 8; g++)
        f.place[g] = nodes_place(f.graph, PLACE_GPU, g);
    for (int n = 0; n < 4; n++)
        f.place[NUMA(n)] = nodes_place(f.graph, PLACE_NUMA, n);
    return f;
}

static void rate(struct fixture *f, enum metric metric, size_t from, size_t to, double gb_per_s)
{
    nodes_value(f->values, metric, VALUE_MEASURED, f->place[from], f->place[to], "", gb_per_s * GB,
                gb_per_s * 0.99 * GB, gb_per_s * 1.01 * GB);
}

/* from and to: of each. */
static void together(struct fixture *f, enum metric metric, size_t count, const size_t *from,
                     const size_t *to, const double *gb_per_s)
{
    struct set_flow flow[8];
    for (size_t i = 0; i < count; i++)
        flow[i] =
            (struct set_flow){f->place[from[i]], f->place[to[i]],         (char *)"",
                              gb_per_s[i] * GB,  gb_per_s[i] * 0.99 * GB, gb_per_s[i] * 1.01 * GB};
    assert_true(
        sets_add(f->sets, &(struct set){.metric = metric, .flow = flow, .flow_count = count}));
}

static void make(struct fixture *f, enum copy_by by)
{
    f->snap = nodes_snapshot_of(f->graph, f->values, f->sets);
    f->together = together_begin(f->snap, f->place, 12, by);
}

static void end(struct fixture *f)
{
    together_end(&f->together);
    snapshot_unref(f->snap);
}

static struct prediction predict(struct fixture *f, const struct asked *flows, size_t count)
{
    return together_predict(&f->together, flows, count);
}

static void assert_ms(double ns, double ms)
{
    if (!(fabs(ns / 1e6 - ms) <= 0.01 * ms))
        fail_msg("%.3f ms is not %.3f", ns / 1e6, ms);
}

/* Two reads of numa0, whose cores read 40 GB/s of it, were measured, and lost nothing. Of four
 * nobody measured anything: its memory does not give twice as much as it is known to. */
static void more_than_were_measured_together_share_what_is_stated(void **state)
{
    (void)state;
    struct fixture f = begin();
    for (size_t g = 0; g < 8; g++)
        rate(&f, METRIC_HOST_GPU_COPY_ENGINE, NUMA(0), g, 20);
    rate(&f, METRIC_MEMORY_BANDWIDTH, NUMA(0), NUMA(0), 40);
    together(&f, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, 2, (size_t[]){NUMA(0), NUMA(0)},
             (size_t[]){0, 2}, (double[]){20, 20});
    make(&f, COPY_BY_ENGINE);
    const struct asked flows[] = {
        {NUMA(0), 0, GB, 0}, {NUMA(0), 2, GB, 0}, {NUMA(0), 4, GB, 0}, {NUMA(0), 6, GB, 0}};
    struct prediction two = predict(&f, flows, 2);
    assert_ms(two.time.time_ns, 50);
    assert_true(two.time.source == SOURCE_MEASURED && together_shared(&f.together, &two) == NULL);
    struct prediction four = predict(&f, flows, 4);
    assert_ms(four.time.time_ns, 100);
    assert_true(four.time.source == SOURCE_NOMINAL && together_shared(&f.together, &four) != NULL &&
                limits_is_stated(together_shared(&f.together, &four)));
    end(&f);
}

/* Two gpus behind one port were measured, which let them have 20 GB/s together: that says nothing
 * of the memory, of which cores read 30 GB/s and write 10. What gpus of two modules read and write
 * then is 30 together, both ways, and of writes as much as one was seen to get. */
static void what_a_port_holds_up_says_nothing_of_the_memory(void **state)
{
    (void)state;
    struct fixture f = begin();
    for (size_t g = 0; g < 4; g++) {
        rate(&f, METRIC_HOST_GPU_COPY_ENGINE, NUMA(0), g, 20);
        rate(&f, METRIC_HOST_GPU_COPY_ENGINE, g, NUMA(0), 20);
    }
    rate(&f, METRIC_MEMORY_BANDWIDTH, NUMA(0), NUMA(0), 30);
    nodes_value(f.values, METRIC_MEMORY_BANDWIDTH, VALUE_MEASURED, f.place[NUMA(0)],
                f.place[NUMA(0)], "operation=write;threads=4", 10 * GB, NAN, NAN);
    together(&f, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, 2, (size_t[]){NUMA(0), NUMA(0)},
             (size_t[]){0, 1}, (double[]){10, 10});
    make(&f, COPY_BY_ENGINE);
    const struct asked reads[] = {{NUMA(0), 0, GB, 0}, {NUMA(0), 2, GB, 0}},
                       writes[] = {{0, NUMA(0), GB, 0}, {2, NUMA(0), GB, 0}},
                       ways[] = {{NUMA(0), 0, GB, 0}, {2, NUMA(0), GB, 0}};
    assert_ms(predict(&f, reads, 2).time.time_ns, 2 / 0.030);
    assert_ms(predict(&f, writes, 2).time.time_ns, 2 / 0.020);
    struct prediction both = predict(&f, ways, 2);
    assert_ms(both.time.time_ns, 2 / 0.030);
    assert_true(together_shared(&f.together, &both) != NULL &&
                limits_is_stated(together_shared(&f.together, &both)));
    assert_string_equal(together_shared(&f.together, &both)->name, "numa0:memory");
    end(&f);
}

/* In these four transfers reads of numa0 get less than writes, which no fair share of anything
 * gives: the reads end when the set says that reads do, whichever of them came first that time. */
static void those_that_were_measured_together_take_what_they_took(void **state)
{
    (void)state;
    static const size_t from[] = {NUMA(0), NUMA(0), 0, 2}, to[] = {0, 2, NUMA(0), NUMA(0)};
    struct fixture f = begin();
    for (size_t g = 0; g < 4; g += 2) {
        rate(&f, METRIC_HOST_GPU_COPY_ENGINE, NUMA(0), g, 50);
        rate(&f, METRIC_HOST_GPU_COPY_ENGINE, g, NUMA(0), 50);
    }
    for (size_t i = 0; i < 4; i++)
        together(&f, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, 1, &from[i], &to[i], (double[]){50});
    for (size_t i = 0; i < 4; i += 2) /* nobody slows another of the same direction */
        together(&f, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, 2, &from[i], &to[i],
                 (double[]){50, 50});
    together(&f, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, 4, from, to, (double[]){28, 22, 48, 42});
    make(&f, COPY_BY_ENGINE);
    struct asked flows[4];
    for (size_t i = 0; i < 4; i++)
        flows[i] = (struct asked){from[i], to[i], GB, 0};
    assert_ms(predict(&f, flows, 4).time.time_ns, 40);
    struct evidence evidence = {0};
    together_why(&f.together, flows, 4, &evidence);
    assert_true(evidence.count > 1 && evidence.set[1] != NULL && evidence.set[1]->flow_count == 4);
    evidence_done(&evidence);
    struct asked halves[8]; /* of two tasks on each gpu */
    for (size_t i = 0; i < 8; i++)
        halves[i] = (struct asked){flows[i % 4].from, flows[i % 4].to, GB / 2, 0};
    struct prediction split = together_predict(&f.together, halves, 8);
    assert_ms(split.time.time_ns, 40);
    assert_true(split.time.source == SOURCE_MEASURED && !isnan(split.time.high_ns));
    flows[0].bytes = flows[1].bytes = 2 * GB; /* an engine that was slower is no faster alone */
    assert_ms(predict(&f, flows, 4).time.time_ns, 80);
    end(&f);
}

/* A copy within the memory that a gpu has in common with its processor reads and writes it: one
 * each way take twice as long as one. */
static void both_ways_within_one_memory_share_it(void **state)
{
    (void)state;
    struct fixture f = begin();
    for (size_t g = 0; g < 8; g++) {
        struct place *gpu = &f.graph->places[f.place[g]];
        free(gpu->model);
        gpu->model = strdup("AMD Instinct MI300A");
        assert_non_null(gpu->model);
    }
    size_t own = NUMA((size_t)graph_place(f.graph, graph_place(f.graph, f.place[0])->numa)->number);
    rate(&f, METRIC_HOST_GPU_KERNEL, own, 0, 1800);
    rate(&f, METRIC_HOST_GPU_KERNEL, 0, own, 1800);
    rate(&f, METRIC_MEMORY_BANDWIDTH, 0, 0, 3600);
    make(&f, COPY_BY_KERNEL);
    const struct asked flows[] = {{own, 0, 1.8 * GB, 0}, {0, own, 1.8 * GB, 0}};
    assert_ms(predict(&f, flows, 1).time.time_ns, 1);
    assert_ms(predict(&f, flows, 2).time.time_ns, 2);
    end(&f);
}

/* Several callers may wait for each other's calls: the upper end has that, and a single caller's
 * has not. */
static void calls_of_other_callers_are_in_the_upper_end(void **state)
{
    (void)state;
    struct fixture f = begin();
    for (size_t g = 0; g < 8; g += 2) {
        char axes[TRANSFER_AXES_MAX];
        rate(&f, METRIC_HOST_GPU_COPY_ENGINE, NUMA(0), g, 20);
        for (int clock = 0; clock < 2; clock++) {
            double ns = clock == 0 ? 3000 : 10000;
            transfer_overhead_axes(METRIC_HOST_GPU_COPY_ENGINE, "",
                                   clock == 0 ? TRANSFER_QUEUE : TRANSFER_CALL, axes, sizeof axes);
            nodes_value(f.values, METRIC_TRANSFER_OVERHEAD, VALUE_MEASURED, f.place[NUMA(0)],
                        f.place[g], axes, ns, ns, ns);
        }
        together(&f, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, 1, (size_t[]){NUMA(0)}, &g,
                 (double[]){20});
    }
    together(&f, METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT, 4,
             (size_t[]){NUMA(0), NUMA(0), NUMA(0), NUMA(0)}, (size_t[]){0, 2, 4, 6},
             (double[]){20, 20, 20, 20});
    make(&f, COPY_BY_ENGINE);
    const struct asked flows[] = {
        {NUMA(0), 0, 4096, 0}, {NUMA(0), 2, 4096, 0}, {NUMA(0), 4, 4096, 0}, {NUMA(0), 6, 4096, 0}};
    struct estimate one = predict(&f, flows, 1).time, four = predict(&f, flows, 4).time;
    assert_true(fabs(one.time_ns - four.time_ns) < 1);
    assert_true(one.high_ns - one.time_ns < 3000 && four.high_ns - four.time_ns > 30000 &&
                four.high_ns - four.time_ns < 33000);
    assert_true(four.time_ns - four.low_ns < 3000);
    /* Of a caller's second transfer only the launch keeps the others. */
    const struct asked turns[] = {
        {NUMA(0), 0, 4096, 0}, {NUMA(0), 2, 4096, 0}, {NUMA(0), 4, 4096, 1}};
    struct prediction three = together_predict(&f.together, turns, 3);
    assert_int_equal(three.last, 2);
    assert_true(fabs(three.waits_ns - 10000) < 1);
    struct prediction other = together_predict(
        &f.together, (const struct asked[]){{NUMA(0), 0, 1 << 30, 0}, turns[1], turns[2]}, 3);
    assert_int_equal(other.last, 0);
    assert_true(fabs(other.waits_ns - 13000) < 1);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_than_were_measured_together_share_what_is_stated),
        cmocka_unit_test(what_a_port_holds_up_says_nothing_of_the_memory),
        cmocka_unit_test(those_that_were_measured_together_take_what_they_took),
        cmocka_unit_test(both_ways_within_one_memory_share_it),
        cmocka_unit_test(calls_of_other_callers_are_in_the_upper_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
