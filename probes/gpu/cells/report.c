#include "gpu/cells/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/cells/cell.h"

void gpu_report_place(const struct gpu_node *node, int place, char *ret_name, size_t size)
{
    if (place >= 0)
        snprintf(ret_name, size, "%s", node->device[place].name);
    else if (place == GPU_PLACE_NONE)
        snprintf(ret_name, size, "machine0");
    else
        snprintf(ret_name, size, "numa%d", node->numa[GPU_PLACE_NUMA(0) - place]);
}

static struct probe_axes all_axes(const struct gpu_report *report, enum probe_metric metric,
                                  const struct probe_axes *axes)
{
    struct probe_axes all = *axes;
    if (report->variant[0] != NULL && probe_metric_has_axis(metric, report->variant[0]))
        probe_axes_add(&all, report->variant[0], "%s", report->variant[1]);
    return all;
}

static void begin(const struct gpu_report *report, struct probe_line *line, const char *record,
                  const struct gpu_node *node, const struct gpu_report_series *series)
{
    char names[2][24];
    gpu_report_place(node, series->from, names[0], sizeof names[0]);
    gpu_report_place(node, series->to, names[1], sizeof names[1]);
    struct probe_axes all = all_axes(report, series->metric, series->axes);
    probe_record_begin(line, record, series->metric, names[0], names[1], &all);
}

/* Keeps a row, with one more axis when bytes is above 0. */
static bool keep(struct gpu_report *report, const struct gpu_node *node,
                 const struct gpu_report_series *series, int64_t bytes,
                 const struct probe_summary *summary, const char *why)
{
    struct probe_row *rows = realloc(report->rows, (report->row_count + 1) * sizeof *rows);
    if (rows == NULL)
        return false;
    report->rows = rows;
    struct probe_row *row = &rows[report->row_count];
    *row = (struct probe_row){.metric = series->metric,
                              .axes = all_axes(report, series->metric, series->axes)};
    if (summary != NULL)
        row->summary = *summary;
    if (why != NULL && (row->why = strdup(why)) == NULL)
        return false;
    gpu_report_place(node, series->from, row->from, sizeof row->from);
    gpu_report_place(node, series->to, row->to, sizeof row->to);
    if (bytes > 0)
        probe_axes_add(&row->axes, "bytes", "%lld", (long long)bytes);
    report->row_count++;
    return true;
}

bool gpu_report_begin(struct gpu_report *report, const char *cell)
{
    if (report->out == NULL)
        return true;
    struct probe_line line;
    probe_record_progress(&line, report->done, report->total);
    probe_line_text(&line, "cell", cell);
    return probe_line_write(&line, report->out);
}

bool gpu_report_value(struct gpu_report *report, const struct gpu_node *node,
                      const struct gpu_report_series *series, const struct probe_summary *value)
{
    if (report->out == NULL)
        return keep(report, node, series, 0, value, NULL);
    struct probe_line line;
    begin(report, &line, "value", node, series);
    probe_record_value(&line, value);
    return probe_line_write(&line, report->out);
}

static bool keep_samples(struct gpu_report *report, const struct gpu_node *node,
                         const struct gpu_report_series *series, const struct probe_sample *samples,
                         size_t count)
{
    bool is_rate = strcmp(probe_metric_unit(series->metric), "bytes_per_s") == 0, ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        struct probe_summary summary = is_rate ? probe_record_rate(&samples[i]) : samples[i].ns;
        ok = keep(report, node, series, samples[i].bytes, &summary, NULL);
    }
    return ok;
}

bool gpu_report_samples(struct gpu_report *report, const struct gpu_node *node,
                        const struct gpu_report_series *series, const struct probe_sample *samples,
                        size_t count, const struct gpu_starts *starts)
{
    if (report->out == NULL)
        return keep_samples(report, node, series, samples, count);
    struct probe_line line;
    begin(report, &line, "value", node, series);
    const struct {
        const char *key;
        double ns;
    } t0[] = {{"t0_call_ns", starts->call.value},  {"t0_queue_ns", starts->queue_ns},
              {"t0_chain_ns", starts->chain_ns},   {"t0_behind_ns", starts->behind_ns},
              {"t0_launch_ns", starts->launch_ns}, {"t0_end_ns", starts->end_ns}};
    for (size_t i = 0; i < sizeof t0 / sizeof *t0; i++)
        if (t0[i].ns > 0)
            probe_line_number(&line, t0[i].key, t0[i].ns);
    if (starts->call.value > 0 && starts->call.n > 0) {
        probe_line_number(&line, "t0_call_low_ns", starts->call.low);
        probe_line_number(&line, "t0_call_high_ns", starts->call.high);
        probe_line_integer(&line, "t0_call_n", starts->call.n);
    }
    probe_line_open_list(&line, "samples");
    for (size_t i = 0; i < count; i++)
        probe_record_sample(&line, &samples[i]);
    probe_line_close_list(&line);
    return probe_line_write(&line, report->out);
}

static void print_flow(struct probe_line *line, const struct gpu_node *node,
                       const struct probe_axes *axes, const struct gpu_report_flow *flow)
{
    char name[24];
    probe_line_open(line, NULL);
    gpu_report_place(node, flow->from, name, sizeof name);
    probe_line_text(line, "from", name);
    gpu_report_place(node, flow->to, name, sizeof name);
    probe_line_text(line, "to", name);
    probe_axes_print(axes, line);
    probe_line_number(line, "bytes_per_s", flow->bytes_per_s.value);
    if (isfinite(flow->bytes_per_s.low) && isfinite(flow->bytes_per_s.high)) {
        probe_line_number(line, "low", flow->bytes_per_s.low);
        probe_line_number(line, "high", flow->bytes_per_s.high);
    }
    probe_line_close(line);
}

/* A matrix holds no sets: each is a line. */
static bool say_set(const struct gpu_node *node, enum probe_metric metric,
                    const struct gpu_report_flow *flows, size_t count)
{
    double sum = 0;
    printf("%s, GB/s:", probe_metric_name(metric));
    for (size_t i = 0; i < count; i++) {
        char names[2][24];
        gpu_report_place(node, flows[i].from, names[0], sizeof names[0]);
        gpu_report_place(node, flows[i].to, names[1], sizeof names[1]);
        printf(" %s to %s %.2f,", names[0], names[1], flows[i].bytes_per_s.value / 1e9);
        sum += flows[i].bytes_per_s.value / 1e9;
    }
    return printf(" together %.2f\n", sum) > 0;
}

bool gpu_report_set(struct gpu_report *report, const struct gpu_node *node,
                    enum probe_metric metric, const struct probe_axes *axes,
                    const struct gpu_report_flow *flows, size_t count)
{
    if (report->out == NULL)
        return say_set(node, metric, flows, count);
    struct probe_line line;
    probe_line_begin(&line, "set");
    probe_line_text(&line, "metric", probe_metric_name(metric));
    probe_line_open_list(&line, "flows");
    for (size_t i = 0; i < count; i++)
        print_flow(&line, node, axes, &flows[i]);
    probe_line_close_list(&line);
    return probe_line_write(&line, report->out);
}

bool gpu_report_skip(struct gpu_report *report, const struct gpu_node *node,
                     const struct gpu_report_series *series, const char *why)
{
    if (report->out == NULL)
        return keep(report, node, series, 0, NULL, why);
    struct probe_line line;
    begin(report, &line, "skip", node, series);
    probe_line_text(&line, "why", why);
    return probe_line_write(&line, report->out);
}

bool gpu_report_skip_set(struct gpu_report *report, const struct gpu_node *node,
                         const struct gpu_report_series *series, const int (*ends)[2], size_t count,
                         const char *why)
{
    struct probe_line line;
    begin(report, &line, "skip", node, series);
    probe_line_text(&line, "why", why);
    probe_line_open_list(&line, "flows");
    if (report->out == NULL)
        printf("%s not measured, %s:", probe_metric_name(series->metric), why);
    for (size_t i = 0; i < count; i++) {
        char names[2][24];
        gpu_report_place(node, ends[i][0], names[0], sizeof names[0]);
        gpu_report_place(node, ends[i][1], names[1], sizeof names[1]);
        if (report->out == NULL)
            printf("%s %s to %s", i > 0 ? "," : "", names[0], names[1]);
        probe_line_open(&line, NULL);
        probe_line_text(&line, "from", names[0]);
        probe_line_text(&line, "to", names[1]);
        probe_line_close(&line);
    }
    probe_line_close_list(&line);
    return report->out == NULL ? printf("\n") > 0 : probe_line_write(&line, report->out);
}

bool gpu_report_finding(struct gpu_report *report, const struct gpu_node *node, const char *code,
                        int from, int to, const char *why)
{
    char names[2][24];
    gpu_report_place(node, from, names[0], sizeof names[0]);
    gpu_report_place(node, to, names[1], sizeof names[1]);
    if (report->out == NULL)
        return printf("%s from %s to %s: %s\n", code, names[0], names[1], why) > 0;
    struct probe_line line;
    probe_line_begin(&line, "finding");
    probe_line_text(&line, "code", code);
    probe_line_text(&line, "from", names[0]);
    probe_line_text(&line, "to", names[1]);
    probe_line_text(&line, "why", why);
    return probe_line_write(&line, report->out);
}

bool gpu_report_print(struct gpu_report *report, FILE *file)
{
    return probe_table_print(report->rows, report->row_count, file);
}

void gpu_report_done(struct gpu_report *report)
{
    for (size_t i = 0; i < report->row_count; i++)
        free((void *)(uintptr_t)report->rows[i].why);
    free(report->rows);
    report->rows = NULL;
    report->row_count = 0;
}
