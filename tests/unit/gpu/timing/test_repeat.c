/* gpu_repeat: the first is thrown away, the rest by the stopping rule, and a failure ends it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu/timing/repeat.h"

struct series {
    double values[64];
    int count, fail_at; /* -1: never */
};

static bool next(void *arg, double *ret_value, struct gpu_err *err)
{
    struct series *series = arg;
    if (series->count == series->fail_at) {
        err->fault = GPU_FAULT_MEMORY;
        return probe_why_set(&err->why, "measurement %d", series->count);
    }
    *ret_value = series->values[series->count++];
    return true;
}

static void the_first_does_not_count(void **state)
{
    struct series series = {.values = {1000}, .fail_at = -1};
    struct probe_summary summary;
    struct gpu_err err;
    (void)state;
    for (int i = 1; i < 64; i++)
        series.values[i] = 50 + i % 2 * 0.1;
    assert_true(gpu_repeat(next, &series, INT64_C(1000000000000), &summary, &err));
    assert_int_equal(series.count, 1 + PROBE_STATS_MIN); /* they settle at once */
    assert_int_equal(summary.n, PROBE_STATS_MIN);
    assert_true(summary.value > 49.9 && summary.high < 50.2);
}

static void what_does_not_settle_ends(void **state)
{
    struct series series = {.fail_at = -1};
    struct probe_summary summary;
    struct gpu_err err;
    (void)state;
    for (int i = 0; i < 64; i++)
        series.values[i] = i % 2 ? 10 : 90;
    assert_true(gpu_repeat(next, &series, INT64_C(1000000000000), &summary, &err));
    assert_int_equal(summary.n, PROBE_STATS_MAX);
    series.count = 0; /* without time there is an interval nevertheless */
    assert_true(gpu_repeat(next, &series, 0, &summary, &err));
    assert_int_equal(summary.n, PROBE_STATS_MIN);
}

static void a_failure_ends_it(void **state)
{
    static const char *const whys[] = {"measurement 0", "measurement 1", "measurement 2"};
    struct probe_summary summary = {.value = 7};
    struct gpu_err err;
    (void)state;
    for (int at = 0; at < 3; at++) {
        struct series series = {.fail_at = at};
        err.fault = GPU_FAULT_NONE;
        assert_false(gpu_repeat(next, &series, INT64_C(1000000000000), &summary, &err));
        assert_int_equal(err.fault, GPU_FAULT_MEMORY);
        assert_string_equal(err.why.text, whys[at]);
        assert_true(summary.value == 7); /* untouched */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_does_not_count),
        cmocka_unit_test(what_does_not_settle_ends),
        cmocka_unit_test(a_failure_ends_it),
    };
    return cmocka_run_group_tests_name("gpu_repeat", tests, NULL, NULL);
}
