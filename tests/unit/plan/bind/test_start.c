/* Order of choices when start-up times are known for some gpus only: a time without one has no
 * advantage. */
#include "unit/plan/bind/bind_answer.h"

#include <string.h>

#include "node/transfer.h"

#define GPUS 4

static place_id gpu(const struct fixture *f, int n) { return nodes_place(f->graph, PLACE_GPU, n); }

/* Gpus that copy to each other at 10 GB/s; nothing says what starting that costs. */
static struct fixture begin(void)
{
    struct fixture f = {.graph = nodes_cpu(&(struct shape){1, 1, 2, 4, 1, INT64_C(128) << 30}),
                        .values = values_new(),
                        .allowed = {.given = true}};
    place_id at = nodes_place(f.graph, PLACE_NUMA, 0);
    struct cpuset cpus = *graph_place(f.graph, at)->cpus;
    assert_non_null(f.values);
    for (int g = 0; g < GPUS; g++)
        nodes_add(f.graph, PLACE_GPU, g, at, at, &cpus);
    return f;
}

static void rate(struct fixture *f, int a, int b, double gb_per_s)
{
    nodes_value(f->values, METRIC_GPU_GPU_COPY_ENGINE, VALUE_MEASURED, gpu(f, a), gpu(f, b), "",
                gb_per_s * 1e9, gb_per_s * 0.999e9, gb_per_s * 1.001e9);
}

static void rates(struct fixture *f)
{
    for (int a = 0; a < GPUS; a++)
        for (int b = 0; b < GPUS; b++)
            if (a != b)
                rate(f, a, b, a / 2 == b / 2 ? 10 : 5);
}

static void starts(struct fixture *f, int a, int b, double ns)
{
    char axes[TRANSFER_AXES_MAX];
    transfer_overhead_axes(METRIC_GPU_GPU_COPY_ENGINE, "", TRANSFER_QUEUE, axes, sizeof axes);
    nodes_value(f->values, METRIC_TRANSFER_OVERHEAD, VALUE_MEASURED, gpu(f, a), gpu(f, b), axes, ns,
                ns, ns);
    transfer_overhead_axes(METRIC_GPU_GPU_COPY_ENGINE, "", TRANSFER_CALL, axes, sizeof axes);
    nodes_value(f->values, METRIC_TRANSFER_OVERHEAD, VALUE_MEASURED, gpu(f, a), gpu(f, b), axes, ns,
                ns, ns);
}

/* The gpus of two tasks, of which the first sends the other so many bytes: a digit each. */
static int bind(struct fixture *f, int64_t bytes)
{
    struct traffic_flow flow = {.from = 0, .to = 1, .bytes = (double)bytes};
    struct traffic traffic = {.flow = &flow, .count = 1};
    struct berth_err err = {0};
    if (f->snap == NULL) {
        f->snap = nodes_snapshot(f->graph, f->values);
        locality_cpus(f->graph, &f->allowed.cpus);
    }
    plan_bind_done(&f->answer);
    struct bind_request request = {.tasks = 2,
                                   .gpus_per_task = 1,
                                   .allowed = &f->allowed,
                                   .traffic = &traffic,
                                   .by = COPY_BY_ENGINE};
    if (plan_bind(f->snap, &request, &f->answer, &err) != BERTH_OK)
        fail_msg("%s", err.detail);
    return 10 * graph_place(f->graph, f->answer.gpu[0])->number +
           graph_place(f->graph, f->answer.gpu[1])->number;
}

static void nothing_is_known_of_any(void **state)
{
    (void)state;
    struct fixture f = begin();
    rates(&f);
    assert_int_equal(bind(&f, 100000), 1);
    assert_near(f.answer.predicted.time_ns, 10000);
    assert_true(isnan(f.answer.predicted.high_ns) && f.answer.is_proven && f.answer.gap == 0 &&
                !lines_with(&f.answer.reasons, "not proven"));
    end(&f);
}

/* 2 and 3 start in 4 us, of the others nothing says it: those with the lowest numbers are no worse
 * by what is known, and are not proven to be better. */
static void of_equal_rates_none_is_faster_for_what_is_not_known(void **state)
{
    (void)state;
    struct fixture f = begin();
    rates(&f);
    starts(&f, 3, 2, 4000);
    assert_int_equal(bind(&f, 100000), 1);
    assert_true(isnan(f.answer.predicted.high_ns) && !f.answer.is_proven && isnan(f.answer.gap) &&
                reason_with(&f.answer.reasons, REASON_UNPROVEN_STARTS) != NULL);
    end(&f);
}

/* Where rates say more than starts, they decide, whichever of both has a whole price. */
static void a_faster_one_is_faster_however_little_is_known_of_its_start(void **state)
{
    (void)state;
    struct fixture f = begin();
    rate(&f, 0, 1, 10);
    rate(&f, 2, 3, 20);
    starts(&f, 0, 1, 4000);
    assert_int_equal(bind(&f, 1000000), 23); /* at least 50 us against 104 */
    assert_true(isnan(f.answer.predicted.high_ns) && isnan(f.answer.gap) &&
                f.answer.baseline.time_ns > 2 * f.answer.predicted.time_ns);
    end(&f);
    f = begin();
    rate(&f, 0, 1, 20);
    rate(&f, 2, 3, 10);
    starts(&f, 2, 3, 4000);
    assert_int_equal(bind(&f, 1000000), 1);
    end(&f);
}

/* A whole price that is a little more than a lower bound: from gpu 0 to 1, and the way back, which
 * counts as starting as soon. */
static void a_whole_price_stands_before_a_lower_bound(void **state)
{
    (void)state;
    struct fixture f = begin();
    rate(&f, 0, 1, 10);
    rate(&f, 1, 0, 10.005);
    starts(&f, 0, 1, 4000);
    for (int64_t bytes = 1000; bytes <= 100000000; bytes *= 10) {
        assert_int_equal(bind(&f, bytes), 1);
        assert_near(f.answer.predicted.time_ns, 4000 + (double)bytes / 10);
        assert_true((isnan(f.answer.gap) || (f.answer.gap > 0 && f.answer.gap <= 0.0005)) &&
                    f.answer.is_proven == !isnan(f.answer.gap) &&
                    (reason_with(&f.answer.reasons, REASON_UNPROVEN_STARTS) == NULL) ==
                        f.answer.is_proven);
    }
    assert_true(f.answer.is_proven);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_of_any),
        cmocka_unit_test(of_equal_rates_none_is_faster_for_what_is_not_known),
        cmocka_unit_test(a_faster_one_is_faster_however_little_is_known_of_its_start),
        cmocka_unit_test(a_whole_price_stands_before_a_lower_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
