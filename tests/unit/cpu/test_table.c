#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/table.h"
#include "cpu/report.h"

static void put(struct cpu_report *report, const struct cpu_cell *cell, double value)
{
    struct probe_summary summary = {
        .value = value, .low = value * 0.99, .high = value * 1.01, .n = 9};
    assert_true(value > 0 ? cpu_report_value(report, cell, &summary)
                          : cpu_report_skip(report, cell, "time budget"));
}

/* Rows and columns ascend by number, holes stay holes, and each reason stands once. */
static void matrices(void **state)
{
    (void)state;
    static const struct cpu_cell cells[] = {
        {.metric = PROBE_MEMORY_BANDWIDTH, .from = "numa0", .to = "numa0", .threads = 16},
        {.metric = PROBE_MEMORY_BANDWIDTH, .from = "numa0", .to = "numa0", .threads = 2},
        {.metric = PROBE_CPU_PINGPONG, .from = "core10", .to = "core2"},
        {.metric = PROBE_CPU_PINGPONG, .from = "core2", .to = "core10"},
        {.metric = PROBE_CPU_PINGPONG, .from = "core0", .to = "core10"},
        {.metric = PROBE_CPU_PINGPONG, .from = "core0", .to = "core2"},
    };
    static const double values[] = {4e10, 2e10, 0, 101.5, 0, 99};
    struct cpu_report report = {0};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        put(&report, &cells[i], values[i]);
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_true(cpu_table_print(&report, file));
    fclose(file);
    assert_string_equal(
        text, "\ncpu_pingpong, ns, and how far its 95 % interval reaches\n"
              "  from\\to             core2           core10\n"
              "  core0        99.00 ± 1.0%                -\n"
              "  core2                        101.50 ± 1.0%\n"
              "  core10                  -\n"
              "  not measured, 2: time budget\n"
              "\nmemory_bandwidth threads=2, GB/s, and how far its 95 % interval reaches\n"
              "  from\\to             numa0\n"
              "  numa0        20.00 ± 1.0%\n"
              "\nmemory_bandwidth threads=16, GB/s, and how far its 95 % interval reaches\n"
              "  from\\to             numa0\n"
              "  numa0        40.00 ± 1.0%\n");
    free(text);
    cpu_report_done(&report);
}

/* The same cell twice, as two runs have it, takes another line. */
static void twice(void **state)
{
    (void)state;
    struct probe_row rows[] = {
        {.metric = PROBE_CPU_PINGPONG,
         .from = "core0",
         .to = "core1",
         .summary = {.value = 5, .low = 5, .high = 5, .n = 6}},
        {.metric = PROBE_CPU_PINGPONG,
         .from = "core0",
         .to = "core1",
         .summary = {.value = 5, .low = NAN, .high = NAN, .n = 2}},
    };
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_true(probe_table_print(rows, 2, file));
    fclose(file);
    assert_non_null(strstr(text, "\n  core0         5.00 ± 0.0%\n  core0                5.00\n"));
    free(text);
}

/* An interval that reaches far, if only to one side, shows its ends, and the columns are as wide as
 * that takes. */
static void intervals(void **state)
{
    (void)state;
    static const struct cpu_cell cells[] = {
        {.metric = PROBE_CPU_PINGPONG, .from = "core0", .to = "core1"},
        {.metric = PROBE_CPU_PINGPONG, .from = "core0", .to = "core2"},
        {.metric = PROBE_CPU_PINGPONG, .from = "core0", .to = "core3"},
        {.metric = PROBE_CPU_PINGPONG, .from = "core1", .to = "core0"},
        {.metric = PROBE_CPU_PINGPONG, .from = "core1", .to = "core2"},
    };
    static const struct probe_summary summaries[] = {
        {.value = 561.02, .low = 489.11, .high = 4510, .n = 6},
        {.value = 100, .low = 99.5, .high = 105.5, .n = 6},
        {.value = 100, .low = 85, .high = 100.5, .n = 6},
        {.value = 100, .low = 99.5, .high = 104.9, .n = 6},
    };
    struct cpu_report report = {0};
    for (size_t i = 0; i < 4; i++)
        assert_true(cpu_report_value(&report, &cells[i], &summaries[i]));
    assert_true(cpu_report_skip(&report, &cells[4], "time budget"));
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_true(cpu_table_print(&report, file));
    fclose(file);
    assert_string_equal(
        text, "\ncpu_pingpong, ns, and how far its 95 % interval reaches\n"
              "  from\\to                   core0                  core1                  core2    "
              "              core3\n"
              "  core0                           561.02 489.11..4510.00   100.00 99.50..105.50   "
              "100.00 85.00..100.50\n"
              "  core1             100.00 ± 4.9%                                             -\n"
              "  not measured, 1: time budget\n");
    free(text);
    cpu_report_done(&report);
}

static void empty(void **state)
{
    (void)state;
    struct cpu_report report = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_true(cpu_table_print(&report, file));
    fclose(file);
    assert_string_equal(text, "");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(matrices), cmocka_unit_test(twice),
                                       cmocka_unit_test(intervals), cmocka_unit_test(empty)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
