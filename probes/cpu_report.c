#include "cpu_report.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe_clock.h"

#define PROGRESS_NS 50000000 /* between two progress records */

static void add_axis(struct cpu_axes *axes, const char *key, const char *value)
{
    snprintf(axes->text[2 * axes->count], sizeof axes->text[0], "%s", key);
    snprintf(axes->text[2 * axes->count + 1], sizeof axes->text[0], "%s", value);
    axes->count++;
}

static void add_number(struct cpu_axes *axes, const char *key, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    add_axis(axes, key, text);
}

static const char *direction_name(enum cpu_direction direction)
{
    static const char *const names[] = {"read", "write", "copy"};
    return names[direction];
}

/* Those of bandwidth, and of noise beside bandwidth or latency. */
static void add_memory_axes(struct cpu_axes *axes, const struct cpu_cell *cell)
{
    bool is_noise = cell->metric == PROBE_MEMORY_NOISE, streams = (is_noise ? cell->beside : cell->metric) == PROBE_MEMORY_BANDWIDTH;
    if (is_noise && streams)
        add_axis(axes, "beside", direction_name(cell->direction));
    else if (streams && cell->direction != CPU_READ)
        add_axis(axes, "how", direction_name(cell->direction));
    if (streams && cell->threads > 0)
        add_number(axes, "threads", cell->threads);
    if (cell->metric == PROBE_MEMORY_LATENCY && cell->bytes > 0)
        add_number(axes, "bytes", cell->bytes);
    if (cell->noise == CPU_NOISE_NUMA || (cell->noise == CPU_NOISE_CORE && !is_noise))
        add_axis(axes, "noise", cell->noise == CPU_NOISE_NUMA ? "numa" : "core");
}

struct cpu_axes cpu_report_axes(const struct cpu_cell *cell)
{
    struct cpu_axes axes = {0};
    if (cell->metric == PROBE_CPU_PINGPONG && cell->cas)
        add_axis(&axes, "how", "cas");
    if (cell->metric == PROBE_MEMORY_BANDWIDTH || cell->metric == PROBE_MEMORY_LATENCY || cell->metric == PROBE_MEMORY_NOISE)
        add_memory_axes(&axes, cell);
    return axes;
}

static void begin(struct probe_line *line, const char *record, const struct cpu_cell *cell)
{
    struct cpu_axes axes = cpu_report_axes(cell);
    probe_line_begin(line, record);
    probe_line_text(line, "metric", probe_metric_name(cell->metric));
    probe_line_text(line, "from", cell->from);
    probe_line_text(line, "to", cell->to);
    probe_line_open(line, "axes");
    for (size_t i = 0; i < axes.count; i++)
        probe_line_text(line, axes.text[2 * i], axes.text[2 * i + 1]);
    probe_line_close(line);
}

static bool keep(struct cpu_report *report, const struct cpu_cell *cell, const struct probe_summary *summary, const char *why)
{
    assert(summary != NULL || why != NULL);
    struct cpu_result result = {.cell = cell};
    if (summary != NULL)
        result.summary = *summary;
    else if ((result.why = strdup(why)) == NULL)
        return false;
    struct cpu_result *kept = realloc(report->kept, (report->kept_count + 1) * sizeof *kept);
    if (kept == NULL) {
        free(result.why);
        return false;
    }
    report->kept = kept;
    report->kept[report->kept_count++] = result;
    return true;
}

static bool progress(struct cpu_report *report)
{
    int64_t now = probe_clock_ns();
    if (report->out == NULL || (report->done < report->total && now - report->progress_ns < PROGRESS_NS))
        return true;
    report->progress_ns = now;
    struct probe_line line;
    probe_line_begin(&line, "progress");
    probe_line_integer(&line, "done", (int64_t)report->done);
    probe_line_integer(&line, "total", (int64_t)report->total);
    return probe_line_write(&line, report->out);
}

bool cpu_report_value(struct cpu_report *report, const struct cpu_cell *cell, const struct probe_summary *summary)
{
    report->done++;
    if (report->out == NULL)
        return keep(report, cell, summary, NULL);
    struct probe_line line;
    begin(&line, "value", cell);
    probe_line_number(&line, "value", summary->value);
    if (isfinite(summary->low) && isfinite(summary->high)) {
        probe_line_number(&line, "low", summary->low);
        probe_line_number(&line, "high", summary->high);
    }
    probe_line_integer(&line, "n", summary->n);
    return probe_line_write(&line, report->out) && progress(report);
}

bool cpu_report_skip(struct cpu_report *report, const struct cpu_cell *cell, const char *why)
{
    report->done++;
    if (report->out == NULL)
        return keep(report, cell, NULL, why);
    struct probe_line line;
    begin(&line, "skip", cell);
    probe_line_text(&line, "why", why);
    return probe_line_write(&line, report->out) && progress(report);
}

bool cpu_report_skip_metric(struct cpu_report *report, enum probe_metric metric, const char *why)
{
    if (report->out == NULL) {
        printf("%s: %s\n", probe_metric_name(metric), why);
        return true;
    }
    struct probe_line line;
    probe_line_begin(&line, "skip");
    probe_line_text(&line, "metric", probe_metric_name(metric));
    probe_line_text(&line, "from", "machine0");
    probe_line_text(&line, "to", "machine0");
    probe_line_text(&line, "why", why);
    return probe_line_write(&line, report->out);
}

bool cpu_report_end(struct cpu_report *report, const char *status, int64_t elapsed_ns)
{
    if (report->out == NULL)
        return true;
    struct probe_line line;
    probe_line_begin(&line, "end");
    probe_line_text(&line, "status", status);
    probe_line_integer(&line, "elapsed_ns", elapsed_ns);
    return probe_line_write(&line, report->out);
}

void cpu_report_done(struct cpu_report *report)
{
    for (size_t i = 0; i < report->kept_count; i++)
        free(report->kept[i].why);
    free(report->kept);
    *report = (struct cpu_report){0};
}
