#include "unit/node/built_nodes.h"

#include "node/overheads.h"

/* Each transfer metric by each of its axes' defaults, and with the axis at another value. */
static size_t axes_of(enum metric metric, char text[][64], size_t most)
{
    size_t count = 0;
    snprintf(text[count++], 64, "%s", "");
    for (const char *c = metric_info(metric)->axes; *c != '\0' && count < most;
         c += strcspn(c, ","), c += *c == ',') {
        int length = (int)strcspn(c, "=,");
        if (strncmp(c, "bytes", (size_t)length) != 0)
            snprintf(text[count++], 64, "%.*s=other", length, c);
    }
    return count;
}

#define AXES_MOST 12

/* Two clocks in three of each transfer, so that some are lacking, or could not be measured. */
static bool has(int metric, size_t axes, int clock)
{
    return ((size_t)metric + axes + (size_t)clock) % 3 != 0;
}

static struct values *fill(place_id a, place_id b)
{
    struct values *values = values_new();
    assert_non_null(values);
    for (int m = 0; m < METRIC_COUNT; m++) {
        char text[AXES_MOST][64], axes[TRANSFER_AXES_MAX];
        size_t count = transfer_is((enum metric)m) ? axes_of((enum metric)m, text, AXES_MOST) : 0;
        for (size_t i = 0; i < count; i++)
            for (int clock = 0; clock < TRANSFER_CLOCKS; clock++) {
                transfer_overhead_axes((enum metric)m, text[i], (enum transfer_clock)clock, axes,
                                       sizeof axes);
                if (has(m, i, clock) || i % 2 == 0)
                    nodes_value(values, METRIC_TRANSFER_OVERHEAD, VALUE_MEASURED,
                                i % 2 == 0 ? a : b, i % 2 == 0 ? b : a, axes,
                                has(m, i, clock) ? 1000 * m + 10 * (int)i + clock : NAN, NAN, NAN);
            }
    }
    /* Axes of no transfer: no such metric, no such clock, an axis that the metric lacks. */
    nodes_value(values, METRIC_TRANSFER_OVERHEAD, VALUE_MEASURED, a, b, "", 1, NAN, NAN);
    nodes_value(values, METRIC_TRANSFER_OVERHEAD, VALUE_MEASURED, a, b, "metric=memory_latency", 2,
                NAN, NAN);
    nodes_value(values, METRIC_TRANSFER_OVERHEAD, VALUE_MEASURED, a, b,
                "clock=sun;metric=gpu_gpu_kernel", 3, NAN, NAN);
    nodes_value(values, METRIC_TRANSFER_OVERHEAD, VALUE_MEASURED, a, b,
                "direction=read;metric=host_gpu_kernel;operation=sum", 4, NAN, NAN);
    values_finish(values);
    return values;
}

static void one_look_has_what_each_lookup_by_axes_has(void **state)
{
    (void)state;
    place_id a = 3, b = 7;
    struct values *values = fill(a, b);
    struct overheads *overheads = overheads_new(values);
    size_t found = 0, missing = 0;
    assert_non_null(overheads);
    for (int m = 0; m < METRIC_COUNT; m++) {
        char text[AXES_MOST][64], axes[TRANSFER_AXES_MAX];
        size_t count = transfer_is((enum metric)m) ? axes_of((enum metric)m, text, AXES_MOST) : 0;
        for (size_t i = 0; i < count; i++)
            for (int turn = 0; turn < 2; turn++) {
                place_id from = turn == 0 ? a : b, to = turn == 0 ? b : a;
                struct overhead overhead =
                    overheads_find(overheads, (enum metric)m, from, to, text[i]);
                for (int clock = 0; clock < TRANSFER_CLOCKS; clock++) {
                    transfer_overhead_axes((enum metric)m, text[i], (enum transfer_clock)clock,
                                           axes, sizeof axes);
                    assert_ptr_equal(overhead.clock[clock],
                                     values_find(values, METRIC_TRANSFER_OVERHEAD, from, to, axes));
                    found += overhead.clock[clock] != NULL;
                    missing += overhead.clock[clock] == NULL;
                }
            }
    }
    assert_true(found > 100 && missing > 100);
    overheads_free(overheads);
    values_free(values);
}

static void nothing_is_known_of_nothing(void **state)
{
    (void)state;
    struct values *values = values_new();
    assert_non_null(values);
    values_finish(values);
    struct overheads *overheads = overheads_new(values);
    assert_non_null(overheads);
    struct overhead none = overheads_find(overheads, METRIC_GPU_GPU_KERNEL, 1, 2, "");
    for (int clock = 0; clock < TRANSFER_CLOCKS; clock++)
        assert_null(none.clock[clock]);
    overheads_free(overheads);
    overheads_free(NULL);
    values_free(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_look_has_what_each_lookup_by_axes_has),
        cmocka_unit_test(nothing_is_known_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
