#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "node/metric.h"

static void every_name_parses(void **state)
{
    (void)state;
    for (int m = 0; m < METRIC_COUNT; m++) {
        enum metric parsed = METRIC_COUNT;
        assert_true(metric_parse(metric_info((enum metric)m)->name, &parsed));
        assert_int_equal(parsed, m);
    }
    enum metric untouched = METRIC_NUMA_DISTANCE;
    assert_false(metric_parse("", &untouched));
    assert_false(metric_parse("cpu_pingpon", &untouched));
    assert_false(metric_parse("cpu_pingpong ", &untouched));
    assert_int_equal(untouched, METRIC_NUMA_DISTANCE);
}

static void rows_are_complete(void **state)
{
    (void)state;
    for (int m = 0; m < METRIC_COUNT; m++) {
        const struct metric_info *info = metric_info((enum metric)m);
        assert_true(strlen(info->about) > 10);
        if (strcmp(info->unit, "bytes_per_s") == 0)
            assert_true(info->higher_is_better);
        else
            assert_true(strcmp(info->unit, "ns") == 0 || strcmp(info->unit, "ratio") == 0);
    }
    assert_false(metric_info(METRIC_CPU_PINGPONG)->higher_is_better);
}

static void axis_defaults(void **state)
{
    (void)state;
    char buffer[16];
    assert_string_equal(
        metric_axis_default(METRIC_CPU_PINGPONG, "operation", buffer, sizeof buffer), "store");
    assert_string_equal(metric_axis_default(METRIC_CPU_PINGPONG, "flag", buffer, sizeof buffer),
                        "from");
    assert_string_equal(metric_axis_default(METRIC_MEMORY_LATENCY, "bytes", buffer, sizeof buffer),
                        "memory");
    assert_string_equal(metric_axis_default(METRIC_MEMORY_LATENCY, "bytes", buffer, 4), "mem");
    assert_null(metric_axis_default(METRIC_CPU_PINGPONG, "ho", buffer, sizeof buffer));
    assert_null(metric_axis_default(METRIC_CPU_PINGPONG, "operation=store", buffer, sizeof buffer));
    assert_null(metric_axis_default(METRIC_CPU_PINGPONG, "", buffer, sizeof buffer));
    assert_null(metric_axis_default(METRIC_NUMA_DISTANCE, "operation", buffer, sizeof buffer));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_parses),
        cmocka_unit_test(rows_are_complete),
        cmocka_unit_test(axis_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
