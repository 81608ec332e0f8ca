/* Bind with few or no times of transfers. Structure joins tasks that exchange bytes, and an option
 * with a price survives one more gpu without one. */
#include "unit/plan/bind/bind_answer.h"

#define MB   INT64_C(1000000)
#define GPUS 6

static place_id gpu(const struct fixture *f, int n) { return nodes_place(f->graph, PLACE_GPU, n); }
static place_id numa(const struct fixture *f, int n)
{
    return nodes_place(f->graph, PLACE_NUMA, n);
}

/* Two processors with three gpus each, of which nothing is known. */
static struct fixture begin(void)
{
    struct fixture f = {.graph = nodes_cpu(&(struct shape){2, 1, 2, 4, 1, INT64_C(128) << 30}),
                        .values = values_new()};
    assert_non_null(f.values);
    for (int g = 0; g < GPUS; g++) {
        place_id at = numa(&f, g / 3);
        struct cpuset cpus = *graph_place(f.graph, at)->cpus;
        nodes_add(f.graph, PLACE_GPU, g, at, at, &cpus);
    }
    return f;
}

/* What it takes both ways. */
static void known(struct fixture *f, enum metric metric, place_id a, place_id b, double gb_per_s)
{
    nodes_value(f->values, metric, VALUE_MEASURED, a, b, "", gb_per_s * 1e9, gb_per_s * 0.99e9,
                gb_per_s * 1.01e9);
    nodes_value(f->values, metric, VALUE_MEASURED, b, a, "", gb_per_s * 1e9, gb_per_s * 0.99e9,
                gb_per_s * 1.01e9);
}

static void serve(struct fixture *f)
{
    f->snap = nodes_snapshot(f->graph, f->values);
    f->allowed.given = true;
    locality_cpus(f->graph, &f->allowed.cpus);
}

static void allow(struct fixture *f, unsigned gpus)
{
    free(f->allowed.gpus);
    f->allowed.gpus = calloc(f->graph->place_count, sizeof *f->allowed.gpus);
    assert_non_null(f->allowed.gpus);
    for (int g = 0; g < GPUS; g++)
        f->allowed.gpus[gpu(f, g)] = gpus >> g & 1;
}

struct wanted {
    int64_t tasks, each;
    enum traffic_pattern pattern;
    int64_t bytes, host_bytes;
};

/* The gpus of all tasks, a digit each, in their order. */
static long bind(struct fixture *f, struct wanted wanted)
{
    struct traffic_request request = {.tasks = wanted.tasks,
                                      .pattern = wanted.pattern,
                                      .bytes = wanted.bytes,
                                      .host_bytes = wanted.host_bytes};
    struct traffic traffic = {0};
    struct berth_err err = {0};
    plan_bind_done(&f->answer);
    assert_int_equal(plan_traffic(&request, &traffic, &err), BERTH_OK);
    struct bind_request bind = {.tasks = wanted.tasks,
                                .gpus_per_task = wanted.each > 0 ? wanted.each : 1,
                                .allowed = &f->allowed,
                                .traffic = &traffic};
    if (plan_bind(f->snap, &bind, &f->answer, &err) != BERTH_OK)
        fail_msg("%s", err.detail);
    plan_traffic_done(&traffic);
    long gpus = 0;
    for (size_t t = 0; t < f->answer.task_count; t++)
        for (size_t i = 0; i < (size_t)f->answer.gpus_per_task; i++)
            gpus = 10 * gpus + graph_place(f->graph, f->answer.task[t].gpus[i])->number;
    return gpus;
}

static void by_structure_who_exchanges_meets_and_who_copies_to_the_host_parts(void **state)
{
    (void)state;
    struct fixture f = begin();
    serve(&f);
    /* 0, 1 */
    assert_int_equal(
        bind(&f, (struct wanted){.tasks = 2, .pattern = TRAFFIC_PAIRS, .bytes = 64 * MB}), 1);
    assert_true(isnan(f.answer.predicted.time_ns) && isnan(f.answer.baseline.time_ns) &&
                isnan(f.answer.gap) && !f.answer.is_proven);
    assert_true(lines_with(&f.answer.warnings, "locality alone decided") &&
                lines_with(&f.answer.warnings, "no time is predicted") &&
                lines_with(&f.answer.reasons,
                           "tasks that send each other bytes have gpus near each other"));
    /* 0, 1 and 3, 4: no pair is torn */
    assert_int_equal(
        bind(&f, (struct wanted){.tasks = 4, .pattern = TRAFFIC_PAIRS, .bytes = 64 * MB}), 134);
    assert_int_equal(
        bind(&f, (struct wanted){.tasks = 3, .pattern = TRAFFIC_RING, .bytes = 64 * MB}), 12);
    assert_int_equal(bind(&f, (struct wanted){.tasks = 2,
                                              .pattern = TRAFFIC_PAIRS,
                                              .bytes = 64 * MB,
                                              .host_bytes = MB}),
                     1);
    assert_int_equal(bind(&f, (struct wanted){.tasks = 2, .host_bytes = 64 * MB}), 3);
    assert_true(lines_with(&f.answer.warnings, "locality alone decided"));
    /* no task is torn */
    assert_int_equal(
        bind(&f,
             (struct wanted){.tasks = 2, .each = 2, .pattern = TRAFFIC_PAIRS, .bytes = 64 * MB}),
        134);
    allow(&f, 0x1C); /* 2, 3, 4 */
    assert_int_equal(
        bind(&f, (struct wanted){.tasks = 2, .pattern = TRAFFIC_PAIRS, .bytes = 64 * MB}), 34);
    end(&f);
}

/* However near they are else, gpus with a link between them are nearer; one that is down joins
 * nobody. */
static void by_structure_a_link_goes_before_all_else(void **state)
{
    (void)state;
    for (int down = 0; down < 2; down++) {
        struct fixture f = begin();
        struct link *link = graph_add_link(f.graph, gpu(&f, 2), gpu(&f, 3), LINK_NVLINK);
        assert_non_null(link);
        link->state = down ? LINK_DOWN : LINK_UP;
        serve(&f);
        assert_int_equal(
            bind(&f, (struct wanted){.tasks = 2, .pattern = TRAFFIC_PAIRS, .bytes = 64 * MB}),
            down ? 1 : 23);
        end(&f);
    }
    struct fixture f = begin(); /* 1 and 2 below one PCIe switch */
    place_id below = nodes_add(f.graph, PLACE_SWITCH, 0, numa(&f, 0), numa(&f, 0), NULL);
    for (int g = 1; g < 3; g++)
        assert_non_null(graph_add_link(f.graph, gpu(&f, g), below, LINK_PCIE));
    serve(&f);
    assert_int_equal(
        bind(&f, (struct wanted){.tasks = 2, .pattern = TRAFFIC_PAIRS, .bytes = 64 * MB}), 12);
    end(&f);
}

/* Of 0 and 1 nothing says what they copy with the host; of 3 something does, but not what it sends
 * to others. */
static void one_gpu_more_takes_no_price_away(void **state)
{
    (void)state;
    struct fixture f = begin();
    struct wanted both = {
        .tasks = 2, .pattern = TRAFFIC_PAIRS, .bytes = 100 * MB, .host_bytes = MB};
    known(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 0), gpu(&f, 1), 10);
    nodes_value(f.values, METRIC_GPU_GPU_COPY_ENGINE, VALUE_MEASURED, gpu(&f, 0), gpu(&f, 1),
                "direction=both", 20e9, 19.8e9, 20.2e9);
    known(&f, METRIC_HOST_GPU_COPY_ENGINE, gpu(&f, 3), numa(&f, 1), 10);
    serve(&f);
    for (int more = 0; more < 2; more++) {
        allow(&f, more ? 0xB : 3);
        assert_int_equal(bind(&f, both), 1);
        assert_true(fabs(f.answer.predicted.time_ns - 1e7) < 1e3 &&
                    f.answer.predicted.low_ns == f.answer.predicted.time_ns &&
                    isnan(f.answer.predicted.high_ns));
        assert_true(f.answer.is_proven &&
                    lines_with(&f.answer.warnings,
                               "4 of the 6 transfers are not in the time, which is at least this"));
    }
    end(&f);
}

/* The fewer transfers lack a price the better, however long the others take: 4 and 5 are slower
 * than 0 and 1, and copy with the host by what is known; whoever is in order lacks more. */
static void of_options_that_lack_something_the_one_that_lacks_least_is_taken(void **state)
{
    (void)state;
    struct fixture f = begin();
    struct wanted both = {
        .tasks = 4, .pattern = TRAFFIC_PAIRS, .bytes = 100 * MB, .host_bytes = MB};
    known(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 0), gpu(&f, 1), 100);
    known(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 2), gpu(&f, 3), 100);
    known(&f, METRIC_GPU_GPU_COPY_ENGINE, gpu(&f, 4), gpu(&f, 5), 10);
    known(&f, METRIC_HOST_GPU_COPY_ENGINE, gpu(&f, 4), numa(&f, 1), 10);
    known(&f, METRIC_HOST_GPU_COPY_ENGINE, gpu(&f, 3), numa(&f, 1), 10);
    serve(&f);
    assert_int_equal(bind(&f, both), 2345);
    assert_true(f.answer.predicted.time_ns > 0.99e7 && isnan(f.answer.baseline.time_ns));
    assert_true(lines_with(&f.answer.warnings, "4 of the 12 transfers are not in the time"));
    end(&f);
}

/* Where nothing that moves has a price there is none, and no choice is weighed by nothing. */
static void the_price_of_nothing_is_none(void **state)
{
    (void)state;
    struct fixture f = begin();
    known(&f, METRIC_HOST_GPU_COPY_ENGINE, gpu(&f, 3), numa(&f, 1), 10);
    serve(&f);
    allow(&f, 7);
    (void)bind(&f, (struct wanted){.tasks = 3, .host_bytes = MB});
    assert_true(isnan(f.answer.predicted.time_ns) &&
                lines_with(&f.answer.warnings, "no time is predicted"));
    end(&f);
}

/* Neither vendor's runtime opens the other's gpus, whatever links join them: such a pair has no
 * price, is chosen only where there is no other, and a warning says why. */
static void between_gpus_of_two_vendors_nothing_has_a_price(void **state)
{
    (void)state;
    struct fixture f = begin();
    for (int g = 0; g < GPUS; g++)
        assert_true(
            place_set_detail(&f.graph->places[gpu(&f, g)], "vendor", g == 0 ? "nvidia" : "amd"));
    for (int g = 1; g < 3; g++) {
        struct link *link = graph_add_link(f.graph, gpu(&f, g - 1), gpu(&f, g), LINK_PCIE);
        assert_non_null(link);
        link->nominal_bytes_per_s = 16e9;
    }
    serve(&f);
    assert_int_equal(
        bind(&f, (struct wanted){.tasks = 2, .pattern = TRAFFIC_PAIRS, .bytes = 64 * MB}), 12);
    assert_true(f.answer.predicted.time_ns > 0 && isnan(f.answer.baseline.time_ns));
    allow(&f, 3);
    (void)bind(&f, (struct wanted){.tasks = 2, .pattern = TRAFFIC_PAIRS, .bytes = 64 * MB});
    assert_true(isnan(f.answer.predicted.time_ns) &&
                reason_with(&f.answer.warnings, REASON_TRANSFERS_VENDORS) != NULL);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_structure_who_exchanges_meets_and_who_copies_to_the_host_parts),
        cmocka_unit_test(by_structure_a_link_goes_before_all_else),
        cmocka_unit_test(one_gpu_more_takes_no_price_away),
        cmocka_unit_test(of_options_that_lack_something_the_one_that_lacks_least_is_taken),
        cmocka_unit_test(the_price_of_nothing_is_none),
        cmocka_unit_test(between_gpus_of_two_vendors_nothing_has_a_price),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
