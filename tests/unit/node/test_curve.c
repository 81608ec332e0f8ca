/* Curves through the sizes of a transfer: they recover known times, never fall, and predict omitted
 * sizes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "node/curve.h"
#include "node/record.h"
#include "node/record_values.h"
#include "node/transfer.h"

static uint64_t seed;

static double chance(void) /* 0 to 1, the same in every run */
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / 9007199254740992.0;
}

static double between(double low, double high) { return low * pow(high / low, chance()); }

/* The peer copy between two H200 on NVSwitch, gpu 0 to gpu 1, by copy engine, as recorded on
 * 2026-11-20. */
static const struct curve_sample h200[] = {
    {256, 1780, NAN, 0},        {1024, 1820, NAN, 0},        {4096, 1990, NAN, 0},
    {16384, 2200, NAN, 0},      {65536, 2280, NAN, 0},       {262144, 2820, NAN, 0},
    {1048576, 4900, NAN, 0},    {4194304, 12960, NAN, 0},    {16777216, 46260, NAN, 0},
    {67108864, 172720, NAN, 0}, {268435456, 679770, NAN, 0},
};
#define H200_COUNT (sizeof h200 / sizeof *h200)

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void assert_curve(const struct curve_fit *fit)
{
    assert_in_range(fit->piece_count, 1, CURVE_PIECES);
    assert_int_equal(fit->piece[0].from_bytes, 0);
    assert_true(fit->piece[0].t0_ns >= 0);
    assert_true(fit->piece[fit->piece_count - 1].ns_per_byte > 0);
    for (size_t k = 0; k < fit->piece_count; k++) {
        const struct curve_piece *piece = &fit->piece[k];
        assert_true(piece->ns_per_byte >= 0 && isfinite(piece->t0_ns));
        if (k == 0)
            continue;
        assert_true(piece->from_bytes > piece[-1].from_bytes);
        double left = piece[-1].t0_ns + (double)piece->from_bytes * piece[-1].ns_per_byte;
        assert_true(fabs(curve_fit_time_ns(fit, (double)piece->from_bytes) / left - 1) < 1e-9);
    }
    assert_true(fit->residual >= 0 && isfinite(fit->residual));
}

static void three_pieces_are_found_again(void **state)
{
    (void)state;
    seed = 1;
    for (int run = 0; run < 300; run++) {
        double x1 = floor(between(18000, 60000)), x2 = floor(between(1200000, 4e6)),
               t0 = between(100, 5000);
        double s1 = between(0.5, 3) * t0 / x1,
               s2 = s1 * (run % 2 ? between(3, 10) : between(0.1, 0.3));
        double s3 = s2 * (run % 3 ? between(3, 10) : between(0.1, 0.3));
        struct curve_sample samples[10];
        for (int i = 0; i < 10; i++) {
            double bytes = (double)(samples[i].bytes = INT64_C(4096) << 2 * i);
            samples[i].ns = t0 + s1 * fmin(bytes, x1) + s2 * fmax(0, fmin(bytes, x2) - x1) +
                            s3 * fmax(0, bytes - x2);
            samples[i].half_ns = 0;
        }
        struct curve_fit fit;
        assert_true(curve_fit(samples, 10, &fit));
        assert_curve(&fit);
        assert_int_equal(fit.piece_count, 3);
        assert_true(fabs(fit.piece[0].t0_ns / t0 - 1) < 1e-4);
        assert_true(fabs(fit.piece[1].from_bytes - x1) <= 1 &&
                    fabs(fit.piece[2].from_bytes - x2) <= 1);
        assert_true(fabs(fit.piece[0].ns_per_byte / s1 - 1) < 1e-4 &&
                    fabs(fit.piece[1].ns_per_byte / s2 - 1) < 1e-4);
        assert_true(fabs(fit.piece[2].ns_per_byte / s3 - 1) < 1e-6 && fit.residual < 1e-4 &&
                    fit.last_half < 1e-3 * s3);
    }
}

static void no_curve_falls_whatever_the_noise(void **state)
{
    (void)state;
    seed = 2;
    for (int run = 0; run < 3000; run++) {
        struct curve_sample samples[CURVE_SIZES_MAX];
        size_t count = 2 + (size_t)(chance() * 14);
        double noise = chance(), slope = between(1e-6, 1), bytes = between(1, 1e5);
        for (size_t i = 0; i < count; i++) {
            samples[i] = (struct curve_sample){
                (int64_t)bytes, (1000 + slope * bytes) * between(1 - 0.9 * noise, 1 + noise), 1, 9};
            bytes = floor(bytes * between(1.1, 8)) + 1;
        }
        struct curve_fit fit;
        if (curve_fit(samples, count, &fit))
            assert_curve(&fit);
        else
            /* no growth to be seen */
            assert_true(count < 6 || noise > 0.1 || slope * bytes < 1000);
    }
}

/* The sum of squares of the best curve of three pieces with break points on a fine grid, its slopes
 * found one at a time. */
static double grid_rss(const struct curve_sample *samples, size_t count)
{
    enum { STEPS = 40 };
    double best = INFINITY, low = log((double)samples[0].bytes),
           high = log((double)samples[count - 1].bytes);
    for (int i = 1; i < STEPS; i++)
        for (int j = i + 1; j < STEPS; j++) {
            double x1 = exp(low + (high - low) * i / STEPS),
                   x2 = exp(low + (high - low) * j / STEPS), c[4] = {0}, rss = 0;
            double row[CURVE_SIZES_MAX][4], rest[CURVE_SIZES_MAX];
            for (size_t r = 0; r < count; r++) {
                double b = (double)samples[r].bytes, t = samples[r].ns;
                row[r][0] = 1 / t;
                row[r][1] = fmin(b, x1) / t;
                row[r][2] = fmax(0, fmin(b, x2) - x1) / t;
                row[r][3] = fmax(0, b - x2) / t;
                rest[r] = 1;
            }
            for (int sweep = 0; sweep < 100; sweep++)
                for (int k = 0; k < 4; k++) {
                    double up = 0, down = 0;
                    for (size_t r = 0; r < count; r++) {
                        up += row[r][k] * rest[r];
                        down += row[r][k] * row[r][k];
                    }
                    double next = down > 0 ? fmax(0, c[k] + up / down) : 0;
                    for (size_t r = 0; r < count; r++)
                        rest[r] -= (next - c[k]) * row[r][k];
                    c[k] = next;
                }
            for (size_t r = 0; r < count; r++)
                rss += rest[r] * rest[r];
            best = fmin(best, rss);
        }
    return best;
}

static void nothing_on_a_grid_fits_better(void **state)
{
    (void)state;
    seed = 3;
    int three = 0;
    for (int run = 0; run < 12; run++) {
        struct curve_sample samples[9];
        double rss = 0, t0 = between(500, 3000), s1 = between(1e-3, 1), s2 = between(1e-3, 1),
               knee = between(1e4, 1e7);
        for (int i = 0; i < 9; i++) {
            double bytes = (double)(samples[i].bytes = INT64_C(4096) << 2 * i);
            samples[i].ns =
                (t0 + s1 * fmin(bytes, knee) + s2 * fmax(0, bytes - knee)) * between(0.9, 1.1);
            samples[i].half_ns = NAN;
        }
        struct curve_fit fit;
        assert_true(curve_fit(samples, 9, &fit));
        for (int i = 0; i < 9; i++)
            rss += pow(curve_fit_time_ns(&fit, (double)samples[i].bytes) / samples[i].ns - 1, 2);
        if (fit.piece_count < 3)
            continue;
        three++;
        if (rss > grid_rss(samples, 9) * 1.001)
            fail_msg("run %d: %g, on a grid %g", run, rss, grid_rss(samples, 9));
    }
    assert_true(three >= 3);
}

/* Each size but the ends is left out once, and predicted from the others. */
static void left_out_sizes_of_a_h200_are_predicted(void **state)
{
    (void)state;
    double error[H200_COUNT], line_error[H200_COUNT];
    size_t count = 0;
    struct curve_fit fit;
    for (size_t out = 1; out + 1 < H200_COUNT; out++) {
        struct curve_sample others[H200_COUNT];
        size_t n = 0;
        for (size_t i = 0; i < H200_COUNT; i++)
            if (i != out)
                others[n++] = h200[i];
        assert_true(curve_fit(others, n, &fit));
        assert_curve(&fit);
        double bytes = (double)h200[out].bytes,
               slope = (others[n - 1].ns - others[n - 2].ns) /
                       (double)(others[n - 1].bytes - others[n - 2].bytes);
        double line = others[n - 1].ns + slope * (bytes - (double)others[n - 1].bytes);
        error[count] = fabs(curve_fit_time_ns(&fit, bytes) / h200[out].ns - 1);
        line_error[count] = fabs(line / h200[out].ns - 1);
        print_message("%10lld bytes left out: the curve is off by %4.1f %%, a line through the two "
                      "largest sizes by %4.1f %%\n",
                      (long long)h200[out].bytes, 100 * error[count], 100 * line_error[count]);
        count++;
    }
    qsort(error, count, sizeof *error, compare_numbers);
    qsort(line_error, count, sizeof *line_error, compare_numbers);
    print_message("median %.1f %%, most %.1f %%; the line %.1f %% and %.1f %%\n",
                  100 * error[count / 2], 100 * error[count - 1], 100 * line_error[count / 2],
                  100 * line_error[count - 1]);
    assert_true(error[count / 2] < 0.02 && error[count - 1] < 0.05);
    assert_true(curve_fit(h200, H200_COUNT, &fit));
    assert_int_equal(fit.piece_count, 3);
    assert_true(fit.residual < 0.02 && fabs(1 / fit.piece[2].ns_per_byte - 397) < 2);
}

/* Copies of an H200, by the engine of the writer and of the reader, as measured on two of them: the
 * time of a call and of one in a queue. */
static void calls_are_told_from_queues(void **state)
{
    (void)state;
    static const struct {
        double t0_call_ns, t0_queue_ns, queued_ns, called_ns;
    } seen[] = {
        /* writes */
        {6400, 2130, 2272, 6593},
        {6400, 2130, 13342, 18212},
        {6400, 2130, 171040, 177713},
        /* reads */
        {9050, 12550, 12626, 9306},
        {9050, 12550, 14404, 11998},
        {9050, 12550, 15558, 14702},
        {9050, 12550, 19590, 20066},
        {9050, 12550, 2718784, 2715813},
    };
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
        double called_ns =
            curve_fit_called_ns(seen[i].queued_ns, seen[i].t0_call_ns, seen[i].t0_queue_ns);
        assert_true(fabs(called_ns / seen[i].called_ns - 1) < 0.08);
    }
    assert_float_equal(curve_fit_called_ns(1000, 9000, 20000), 9000, 0); /* never negative */
    assert_true(isnan(curve_fit_called_ns(1000, NAN, 500)) &&
                isnan(curve_fit_called_ns(1000, 500, NAN)));
}

static void few_sizes_give_fewer_pieces(void **state)
{
    (void)state;
    struct curve_sample samples[CURVE_SIZES_MAX + 1];
    struct curve_fit fit;
    for (size_t i = 0; i <= CURVE_SIZES_MAX; i++)
        samples[i] =
            (struct curve_sample){(int64_t)(i + 1) * 1000, 500 + 10 * pow((double)i, 1.5), 1, 9};
    assert_false(curve_fit(samples, 0, &fit));
    assert_false(curve_fit(samples, 1, &fit));
    assert_false(curve_fit(samples, CURVE_SIZES_MAX + 1, &fit));
    const size_t most[] = {0, 0, 1, 2, 2, 2, 3};
    for (size_t count = 2; count <= 6; count++) {
        assert_true(curve_fit(samples, count, &fit));
        assert_in_range(fit.piece_count, 1, most[count]);
    }
    const struct curve_sample two[] = {{1 << 20, 5000, 30, 9}, {1 << 24, 45000, 40, 9}};
    assert_true(curve_fit(two, 2, &fit));
    assert_true(fabs(fit.piece[0].ns_per_byte - 40000.0 / (15 << 20)) < 1e-12 &&
                fit.residual < 1e-12);
    assert_true(fabs(fit.last_half - 50.0 / (15 << 20)) < 1e-9);
    const struct curve_sample flat[] = {{1024, 700, 1, 9}, {4096, 700, 1, 9}},
                              falling[] = {{1024, 700, 1, 9}, {4096, 500, 1, 9}};
    assert_false(curve_fit(flat, 2, &fit));
    assert_false(curve_fit(falling, 2, &fit));
}

static struct graph *make_node(void)
{
    struct graph *graph = graph_new();
    struct berth_err err = {0};
    graph_add_place(graph, PLACE_MACHINE, 0);
    for (int i = 0; i < 4; i++) {
        place_id id = graph_add_place(graph, i < 2 ? PLACE_CORE : PLACE_GPU, i % 2);
        graph->places[id].parent = 0;
    }
    if (graph_finish(graph, &err) != BERTH_OK)
        fail_msg("%s", err.detail);
    return graph;
}

static void take(struct values *values, const struct graph *graph, const char *line)
{
    struct record record;
    struct berth_err err = {0};
    if (record_parse(line, strlen(line), &record, &err) != BERTH_OK ||
        record_add_values(&record, graph, VALUE_MEASURED, 1790000000, values, &err) != BERTH_OK)
        fail_msg("%s", err.detail);
    record_done(&record);
}

#define COPY                                                                                       \
    "{\"record\":\"value\",\"metric\":\"gpu_gpu_copy_engine\",\"from\":\"gpu0\",\"to\":\"gpu1\","
#define SAMPLES                                                                                    \
    "\"samples\":[{\"bytes\":4096,\"median_ns\":1990,\"low_ns\":1960,\"high_ns\":2030,\"n\":9},"   \
    "{\"bytes\":1048576,\"median_ns\":4900,\"low_ns\":4880,\"high_ns\":4920,\"n\":7},"             \
    "{\"bytes\":268435456,\"median_ns\":679770,\"low_ns\":679700,\"high_ns\":679900,\"n\":9}]}"

static void curves_come_from_records(void **state)
{
    (void)state;
    struct graph *graph = make_node();
    struct values *values = values_new();
    place_id gpu0 = graph_find(graph, "gpu0"), gpu1 = graph_find(graph, "gpu1"),
             core0 = graph_find(graph, "core0"), core1 = graph_find(graph, "core1");
    take(values, graph,
         COPY "\"axes\":{\"direction\":\"read\"},\"t0_call_ns\":6100,\"t0_queue_ns\":1810,\"t0_"
              "chain_ns\":3200,\"t0_launch_ns\":2300,\"t0_end_ns\":1400," SAMPLES);
    take(values, graph, COPY SAMPLES);
    take(values, graph, COPY "\"axes\":{\"bytes\":\"large\"},\"value\":3e11}");
    take(values, graph,
         "{\"record\":\"skip\",\"metric\":\"cpu_copy\",\"from\":\"core0\",\"to\":\"core1\",\"why\":"
         "\"time budget\"}");
    take(values, graph,
         "{\"record\":\"value\",\"metric\":\"cpu_copy\",\"from\":\"core0\",\"to\":\"core1\","
         "\"samples\":["
         "{\"bytes\":65536,\"median_ns\":7000},{\"bytes\":1048576,\"median_ns\":105304}]}");
    take(values, graph,
         "{\"record\":\"value\",\"metric\":\"cpu_copy\",\"from\":\"core1\",\"to\":\"core0\","
         "\"axes\":{\"bytes\":4096},\"value\":1e10}");
    struct value published = {.metric = METRIC_GPU_GPU_KERNEL,
                              .from = gpu0,
                              .to = gpu1,
                              .source = VALUE_PUBLISHED,
                              .low = NAN,
                              .high = NAN};
    for (int i = 1; i < 5; i++) {
        char axes[24];
        published.value = i * 1e9;
        snprintf(axes, sizeof axes, "bytes=%d", i << 20);
        assert_true(values_add(values, &published, axes, NULL));
    }
    assert_true(curve_fill_large(values, graph));

    struct curves *curves = curve_make_all(values, graph);
    assert_non_null(curves);
    assert_int_equal(curves->count, 3);
    const struct curve *read =
        curve_find(curves, METRIC_GPU_GPU_COPY_ENGINE, gpu0, gpu1, "direction=read");
    const struct curve *write = curve_find(curves, METRIC_GPU_GPU_COPY_ENGINE, gpu0, gpu1, ""),
                       *first;
    const struct curve *copy = curve_find(curves, METRIC_CPU_COPY, core0, core1, "");
    assert_true(read != NULL && write != NULL && copy != NULL);
    assert_null(curve_find(curves, METRIC_GPU_GPU_COPY_ENGINE, gpu1, gpu0, ""));
    assert_null(curve_find(curves, METRIC_GPU_GPU_COPY_ENGINE, gpu0, gpu1, "direction=both"));
    assert_int_equal(curve_range(curves, METRIC_GPU_GPU_COPY_ENGINE, &first), 2);
    assert_ptr_equal(first, write);
    assert_int_equal(curve_range(curves, METRIC_GPU_GPU_KERNEL, &first), 0);
    assert_true(read->t0_call_ns == 6100 && read->t0_queue_ns == 1810 && read->size_count == 3 &&
                read->n == 7);
    assert_true(read->t0_chain_ns == 3200 && read->t0_launch_ns == 2300 && read->t0_end_ns == 1400);
    assert_true(read->least_bytes == 4096 && read->most_bytes == 268435456 &&
                read->measured_at_s == 1790000000);
    assert_true(fabs(read->b80_bytes / (4 * 6100e-9 * curve_wmax_bytes_per_s(read)) - 1) < 1e-12);
    /* nobody measured it */
    assert_true(isnan(write->t0_call_ns) && isnan(write->t0_queue_ns) && isnan(write->b80_bytes));
    /* a core waits for no stream */
    assert_true(isnan(write->t0_chain_ns) && isnan(copy->t0_chain_ns) &&
                isnan(copy->t0_launch_ns) && isnan(copy->t0_end_ns));
    assert_true(fabs(copy->t0_call_ns - 446.4) < 0.1 && copy->t0_queue_ns == copy->t0_call_ns &&
                copy->n == 0);
    /* beyond the largest */
    assert_true(fabs(curve_time_ns(copy, 2097152) - (105304 + 98304 * 16.0 / 15)) < 1);

    /* One number for the pair: from the curve, unless a record gave it. */
    const struct value *large =
        values_find(values, METRIC_GPU_GPU_COPY_ENGINE, gpu0, gpu1, "direction=read");
    assert_true(large != NULL && large->source == VALUE_MEASURED && large->n == 7);
    assert_true(fabs(large->value / curve_wmax_bytes_per_s(read) - 1) < 1e-9 &&
                large->low < large->value && large->high > large->value);
    assert_true(large->high < 1.05 * large->low);
    assert_true(values_find(values, METRIC_GPU_GPU_COPY_ENGINE, gpu0, gpu1, "")->value == 3e11);
    large = values_find(values, METRIC_CPU_COPY, core0, core1, "");
    /* in place of the reason why there was none */
    assert_true(large != NULL && fabs(large->value - 1e10) < 1e4 && isnan(large->low));
    assert_null(values_find(values, METRIC_CPU_COPY, core1, core0, ""));
    curve_free_all(curves);
    values_free(values);
    graph_unref(graph);
}

/* Two sizes that take about the same time have a curve, but its rate is no rate of large transfers.
 */
static void small_sizes_say_nothing_of_large_ones(void **state)
{
    (void)state;
    struct graph *graph = make_node();
    struct values *values = values_new();
    take(values, graph,
         "{\"record\":\"value\",\"metric\":\"cpu_copy\",\"from\":\"core0\",\"to\":\"core1\","
         "\"samples\":["
         "{\"bytes\":4096,\"median_ns\":2000},{\"bytes\":8192,\"median_ns\":2020}]}");
    take(values, graph,
         "{\"record\":\"value\",\"metric\":\"cpu_copy\",\"from\":\"core1\",\"to\":\"core0\","
         "\"samples\":["
         "{\"bytes\":4096,\"median_ns\":1000,\"low_ns\":600,\"high_ns\":1400},{\"bytes\":8192,"
         "\"median_ns\":1500,\"low_ns\":1100,\"high_ns\":1900}]}");
    assert_true(curve_fill_large(values, graph));
    place_id core0 = graph_find(graph, "core0"), core1 = graph_find(graph, "core1");
    assert_null(values_find(values, METRIC_CPU_COPY, core0, core1, ""));
    assert_null(values_find(values, METRIC_CPU_COPY, core1, core0, ""));
    struct curves *curves = curve_make_all(values, graph);
    assert_int_equal(curves->count, 2);
    curve_free_all(curves);
    values_free(values);
    graph_unref(graph);
}

static void many_sizes_are_thinned(void **state)
{
    (void)state;
    struct graph *graph = make_node();
    struct values *values = values_new();
    struct value v = {.metric = METRIC_CPU_COPY, .from = 1, .to = 2, .low = NAN, .high = NAN};
    for (int i = 1; i <= 200; i++) {
        char axes[24];
        v.value = i * 1000.0 / (500 + i * 100.0) * 1e9;
        snprintf(axes, sizeof axes, "bytes=%d", i * 1000);
        assert_true(values_add(values, &v, axes, NULL));
    }
    values_finish(values);
    struct curves *curves = curve_make_all(values, graph);
    assert_int_equal(curves->count, 1);
    assert_true(curves->item[0].size_count == CURVE_SIZES_MAX &&
                curves->item[0].least_bytes == 1000 && curves->item[0].most_bytes == 200000);
    assert_true(curves->item[0].fit.piece_count == 1 &&
                fabs(curves->item[0].fit.piece[0].t0_ns - 500) < 0.01);
    curve_free_all(curves);
    values_free(values);
    graph_unref(graph);
}

static void overheads_have_room_for_every_axis(void **state)
{
    (void)state;
    int transfers = 0;
    for (int m = 0; m < METRIC_COUNT; m++) {
        char text[128], buffer[48], *rest = NULL;
        if (!transfer_is((enum metric)m))
            continue;
        transfers++;
        snprintf(text, sizeof text, "%s", metric_info((enum metric)m)->axes);
        for (char *axis = strtok_r(text, ",", &rest); axis != NULL;
             axis = strtok_r(NULL, ",", &rest)) {
            axis[strcspn(axis, "=")] = '\0';
            if (strcmp(axis, "bytes") != 0 &&
                metric_axis_default(METRIC_TRANSFER_OVERHEAD, axis, buffer, sizeof buffer) == NULL)
                fail_msg("transfer_overhead lacks the axis %s of %s", axis,
                         metric_info((enum metric)m)->name);
        }
    }
    assert_true(transfers >= 5 && !transfer_is(METRIC_MEMORY_LATENCY) &&
                !transfer_is(METRIC_MEMORY_BANDWIDTH));
    char axes[TRANSFER_AXES_MAX];
    transfer_overhead_axes(METRIC_GPU_GPU_COPY_ENGINE, "bytes=4096", TRANSFER_QUEUE, axes,
                           sizeof axes);
    assert_string_equal(axes, "clock=queue;direction=write;metric=gpu_gpu_copy_engine;sdma=on");
}

static void bytes_are_split_from_axes(void **state)
{
    (void)state;
    static const struct {
        const char *axes, *rest;
        int64_t bytes;
    } cases[] = {
        {"", "", 0},
        {"operation=read", "operation=read", 0},
        {"bytes=4096", "", 4096},
        {"bytes=4096;operation=read", "operation=read", 4096},
        {"a=b;bytes=1", "a=b", 1},
        {"a=b;bytes=7;operation=read", "a=b;operation=read", 7},
        {"xbytes=4", "xbytes=4", 0},
        {"bytes=large;a=b", "a=b", 0},
        {"bytes=-5", "", 0},
        {"bytes=12x", "", 0},
        {"bytes=99999999999999999999", "", 0},
        {"bytes= 5", "", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char rest[TRANSFER_AXES_MAX];
        assert_int_equal(transfer_split(cases[i].axes, rest, sizeof rest), cases[i].bytes);
        assert_string_equal(rest, cases[i].rest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_pieces_are_found_again),
        cmocka_unit_test(no_curve_falls_whatever_the_noise),
        cmocka_unit_test(nothing_on_a_grid_fits_better),
        cmocka_unit_test(left_out_sizes_of_a_h200_are_predicted),
        cmocka_unit_test(calls_are_told_from_queues),
        cmocka_unit_test(few_sizes_give_fewer_pieces),
        cmocka_unit_test(curves_come_from_records),
        cmocka_unit_test(small_sizes_say_nothing_of_large_ones),
        cmocka_unit_test(many_sizes_are_thinned),
        cmocka_unit_test(overheads_have_room_for_every_axis),
        cmocka_unit_test(bytes_are_split_from_axes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
