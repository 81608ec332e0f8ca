/* The size from which another mechanism is faster, and the smallest piece that is large enough. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "node/tuned_sizes.h"

/* Two mechanisms between one pair of places, each with a start-up time and a rate. */
struct fixture {
    struct graph *graph;
    struct values *values;
    struct curves *curves;
    const struct curve *engine, *kernel;
};

static void add(struct fixture *f, enum metric metric, const char *axes, double value, double half)
{
    const struct value v = {.metric = metric,
                            .from = 1,
                            .to = 2,
                            .n = 9,
                            .measured_at_s = 1790000000,
                            .source = VALUE_MEASURED,
                            .value = value,
                            .low = value * (1 - half),
                            .high = value * (1 + half)};
    assert_true(values_add(f->values, &v, axes, NULL));
}

static void add_start(struct fixture *f, enum metric metric, enum transfer_clock clock, double ns)
{
    char axes[TRANSFER_AXES_MAX];
    transfer_overhead_axes(metric, "", clock, axes, sizeof axes);
    add(f, METRIC_TRANSFER_OVERHEAD, axes, ns, 0.001);
}

static void add_sizes(struct fixture *f, enum metric metric, double start_ns, double rate,
                      double half, bool has_start)
{
    for (int64_t bytes = 4096; bytes <= 64 << 20; bytes *= 4) {
        char axes[32];
        snprintf(axes, sizeof axes, "bytes=%lld", (long long)bytes);
        add(f, metric, axes, (double)bytes / (start_ns + (double)bytes / rate) * 1e9, half);
    }
    if (has_start) {
        add_start(f, metric, TRANSFER_CALL, start_ns + 4000);
        add_start(f, metric, TRANSFER_QUEUE, start_ns);
    }
}

static struct fixture begin(void)
{
    struct fixture f = {.graph = graph_new(), .values = values_new()};
    assert_true(f.graph != NULL && f.values != NULL);
    graph_add_place(f.graph, PLACE_MACHINE, 0);
    for (int i = 0; i < 2; i++) {
        place_id gpu = graph_add_place(f.graph, PLACE_GPU, i);
        f.graph->places[gpu].parent = 0;
    }
    assert_int_equal(graph_finish(f.graph, NULL), BERTH_OK);
    return f;
}

static struct tuned_sizes_threshold find(struct fixture *f)
{
    values_finish(f->values);
    f->curves = curve_make_all(f->values, f->graph);
    assert_non_null(f->curves);
    f->engine = curve_find(f->curves, METRIC_GPU_GPU_COPY_ENGINE, 1, 2, "");
    f->kernel = curve_find(f->curves, METRIC_GPU_GPU_KERNEL, 1, 2, "");
    return tuned_sizes_threshold(f->curves, f->engine, f->kernel);
}

static void end(struct fixture *f)
{
    curve_free_all(f->curves);
    values_free(f->values);
    graph_unref(f->graph);
}

/* Times are equal where 3 us + bytes / 20 bytes/ns = 1 us + bytes / 10 bytes/ns: at 40000 bytes. */
static void the_order_changes_once(void **state)
{
    (void)state;
    struct fixture f = begin();
    add_sizes(&f, METRIC_GPU_GPU_COPY_ENGINE, 3000, 20, 0.001, true);
    add_sizes(&f, METRIC_GPU_GPU_KERNEL, 1000, 10, 0.001, true);
    struct tuned_sizes_threshold found = find(&f);
    assert_null(found.why_not);
    assert_true(found.is_certain && found.is_kernel_below && !found.is_kernel_above);
    assert_true(found.certain_below < 40000 && found.certain_below > 36000);
    assert_true(found.bytes > 40000 && found.bytes < 44000);
    assert_true(found.low <= found.bytes_per_s && found.bytes_per_s <= found.high);
    assert_true(found.next_bytes_per_s < found.bytes_per_s);
    /* by the caller's clock: 4 us more than in a queue */
    assert_true(fabs(found.bytes_per_s * (7000 + found.bytes / 20) / (1e9 * found.bytes) - 1) <
                0.01);
    end(&f);
}

/* The wider the intervals, the further apart are the sizes at which the order is certain. */
static void wide_intervals_leave_a_gap(void **state)
{
    (void)state;
    double below = INFINITY, from = 0;
    static const double halves[] = {0.002, 0.01, 0.03};
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        struct fixture f = begin();
        add_sizes(&f, METRIC_GPU_GPU_COPY_ENGINE, 3000, 20, halves[i], true);
        add_sizes(&f, METRIC_GPU_GPU_KERNEL, 1000, 10, halves[i], true);
        struct tuned_sizes_threshold found = find(&f);
        assert_null(found.why_not);
        assert_true(found.certain_below < below && found.bytes > from);
        below = found.certain_below;
        from = found.bytes;
        end(&f);
    }
    struct fixture f = begin();
    add_sizes(&f, METRIC_GPU_GPU_COPY_ENGINE, 3000, 20, 0.9, true);
    add_sizes(&f, METRIC_GPU_GPU_KERNEL, 1000, 20, 0.9, true);
    struct tuned_sizes_threshold found = find(&f);
    assert_true(isnan(found.bytes) && isnan(found.certain_below) && isnan(found.bytes_per_s));
    assert_false(found.is_certain);
    assert_string_equal(found.why_not, "the intervals of both overlap at all measured sizes");
    end(&f);
}

static void one_may_always_be_faster(void **state)
{
    (void)state;
    struct fixture f = begin();
    add_sizes(&f, METRIC_GPU_GPU_COPY_ENGINE, 1000, 20, 0.001, true);
    add_sizes(&f, METRIC_GPU_GPU_KERNEL, 3000, 10, 0.001, true);
    struct tuned_sizes_threshold found = find(&f);
    assert_true(isnan(found.bytes));
    assert_true(found.is_certain && !found.is_kernel_above && !found.is_kernel_below);
    assert_string_equal(found.why_not,
                        "the copy engine is the faster one wherever their intervals differ");
    end(&f);
}

static void what_is_missing_is_named(void **state)
{
    (void)state;
    struct fixture f = begin();
    assert_string_equal(find(&f).why_not, "no sizes of either mechanism are measured");
    end(&f);
    f = begin();
    add_sizes(&f, METRIC_GPU_GPU_KERNEL, 1000, 10, 0.001, true);
    assert_string_equal(find(&f).why_not, "no sizes by the copy engine are measured");
    end(&f);
    f = begin();
    add_sizes(&f, METRIC_GPU_GPU_COPY_ENGINE, 3000, 20, 0.001, false);
    add_sizes(&f, METRIC_GPU_GPU_KERNEL, 1000, 10, 0.001, true);
    assert_string_equal(find(&f).why_not, "the start of a copy by the copy engine is not measured");
    end(&f);
}

/* 1 us and 10 bytes/ns: 95 % of the rate from 190000 bytes on, so 256 KiB. */
static void a_piece_is_large_enough(void **state)
{
    (void)state;
    struct fixture f = begin();
    add_sizes(&f, METRIC_GPU_GPU_KERNEL, 1000, 10, 0.001, true);
    find(&f);
    assert_int_equal((int)tuned_sizes_chunk(f.kernel), 256 << 10);
    end(&f);
    f = begin();
    add_sizes(&f, METRIC_GPU_GPU_KERNEL, 1e6, 10, 0.001, true); /* 64 MiB reach 87 % */
    find(&f);
    assert_true(isnan(tuned_sizes_chunk(f.kernel)));
    end(&f);
}

static void add_streams(struct fixture *f, const char *axes, double rate, double half)
{
    add(f, METRIC_COPY_STREAMS, axes, rate, half);
}

/* The fewest streams that are as fast as any, for pieces of the usual size. */
static void more_streams_must_be_faster(void **state)
{
    (void)state;
    struct fixture f = begin();
    values_finish(f.values);
    assert_null(tuned_sizes_streams(f.values, 1, 2).value);
    values_free(f.values);
    f.values = values_new();
    add_streams(&f, "", 100, 0.001);
    add_streams(&f, "streams=2", 150, 0.001);
    add_streams(&f, "streams=4", 151, 0.001); /* within 1 % */
    add_streams(&f, "bytes=4096;streams=8", 900, 0.001);
    values_finish(f.values);
    struct tuned_sizes_streams found = tuned_sizes_streams(f.values, 1, 2);
    assert_int_equal(found.count, 2);
    assert_true(found.value->value == 150 && found.next->value == 151);
    assert_null(tuned_sizes_streams(f.values, 2, 1).value);
    values_free(f.values);
    f.values = values_new();
    add_streams(&f, "", 100, 0.2); /* not below the others for certain */
    add_streams(&f, "streams=2", 110, 0.001);
    values_finish(f.values);
    assert_int_equal(tuned_sizes_streams(f.values, 1, 2).count, 1);
    values_free(f.values);
    f.values = values_new();
    add_streams(&f, "streams=x", 100, 0.01);
    add_streams(&f, "streams=4", 100, 0.01);
    values_finish(f.values);
    found = tuned_sizes_streams(f.values, 1, 2);
    assert_int_equal(found.count, 4);
    assert_null(found.next);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_changes_once),   cmocka_unit_test(wide_intervals_leave_a_gap),
        cmocka_unit_test(one_may_always_be_faster), cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(a_piece_is_large_enough),  cmocka_unit_test(more_streams_must_be_faster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
