#include "cpu/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/record.h"

#define PROGRESS_NS 50000000 /* between two progress records */

static const char *direction_name(enum cpu_direction direction)
{
    static const char *const names[] = {"read", "write", "copy"};
    return names[direction];
}

/* Adds the axes of bandwidth, and of noise beside bandwidth or latency. */
static void add_memory_axes(struct probe_axes *axes, const struct cpu_cell *cell)
{
    bool is_noise = cell->metric == PROBE_MEMORY_NOISE,
         streams = (is_noise ? cell->beside : cell->metric) == PROBE_MEMORY_BANDWIDTH;
    if (is_noise && streams)
        probe_axes_add(axes, "beside", "%s", direction_name(cell->direction));
    else if (streams && cell->direction != CPU_READ)
        probe_axes_add(axes, "operation", "%s", direction_name(cell->direction));
    if (streams && cell->threads > 0)
        probe_axes_add(axes, "threads", "%lld", (long long)(cell->threads));
    if (cell->metric == PROBE_MEMORY_LATENCY && cell->bytes > 0)
        probe_axes_add(axes, "bytes", "%lld", (long long)(cell->bytes));
    if (cell->noise == CPU_NOISE_NUMA || (cell->noise == CPU_NOISE_CORE && !is_noise))
        probe_axes_add(axes, "noise", "%s", cell->noise == CPU_NOISE_NUMA ? "numa" : "core");
}

struct probe_axes cpu_report_axes(const struct cpu_cell *cell, int64_t sample_bytes)
{
    struct probe_axes axes = {0};
    if (cell->metric == PROBE_CPU_PINGPONG && cell->cas)
        probe_axes_add(&axes, "operation", "%s", "cas");
    if (cell->metric == PROBE_MEMORY_BANDWIDTH || cell->metric == PROBE_MEMORY_LATENCY ||
        cell->metric == PROBE_MEMORY_NOISE)
        add_memory_axes(&axes, cell);
    if (cell->metric == PROBE_CPU_COPY && sample_bytes > 0)
        probe_axes_add(&axes, "bytes", "%lld", (long long)(sample_bytes));
    if (cell->metric == PROBE_CPU_QUEUE && cell->reader)
        probe_axes_add(&axes, "side", "%s", "reader");
    return axes;
}

static void begin(struct probe_line *line, const char *record, const struct cpu_cell *cell)
{
    struct probe_axes axes = cpu_report_axes(cell, 0);
    probe_record_begin(line, record, cell->metric, cell->from, cell->to, &axes);
}

/* Takes the result's text. */
static bool keep(struct cpu_report *report, struct cpu_result take_result)
{
    struct cpu_result *kept = realloc(report->kept, (report->kept_count + 1) * sizeof *kept);
    if (kept == NULL) {
        free(take_result.why);
        return false;
    }
    report->kept = kept;
    report->kept[report->kept_count++] = take_result;
    return true;
}

static bool progress(struct cpu_report *report)
{
    int64_t now = probe_clock_ns();
    if (report->out == NULL ||
        (report->done < report->total && now - report->progress_ns < PROGRESS_NS))
        return true;
    report->progress_ns = now;
    struct probe_line line;
    probe_record_progress(&line, report->done, report->total);
    return probe_line_write(&line, report->out);
}

bool cpu_report_value(struct cpu_report *report, const struct cpu_cell *cell,
                      const struct probe_summary *summary)
{
    report->done++;
    if (report->out == NULL)
        return keep(report, (struct cpu_result){.cell = cell, .summary = *summary});
    struct probe_line line;
    begin(&line, "value", cell);
    probe_record_value(&line, summary);
    return probe_line_write(&line, report->out) && progress(report);
}

bool cpu_report_samples(struct cpu_report *report, const struct cpu_cell *cell,
                        const int64_t *bytes, const struct probe_summary *times, unsigned count)
{
    report->done++;
    bool ok = true;
    for (unsigned i = 0; report->out == NULL && ok && i < count; i++) {
        struct probe_sample sample = {bytes[i], times[i]};
        ok = keep(report, (struct cpu_result){.cell = cell,
                                              .bytes = bytes[i],
                                              .summary = probe_record_rate(&sample)});
    }
    if (report->out == NULL)
        return ok;
    struct probe_line line;
    begin(&line, "value", cell);
    probe_line_open_list(&line, "samples");
    for (unsigned i = 0; i < count; i++) {
        struct probe_sample sample = {bytes[i], times[i]};
        probe_record_sample(&line, &sample);
    }
    probe_line_close_list(&line);
    return probe_line_write(&line, report->out) && progress(report);
}

bool cpu_report_late(struct cpu_report *report, const struct cpu_cell *cell)
{
    report->late = true;
    return cpu_report_skip(report, cell, "time budget");
}

bool cpu_report_skip(struct cpu_report *report, const struct cpu_cell *cell, const char *why)
{
    report->done++;
    if (report->out == NULL) {
        struct cpu_result result = {.cell = cell, .why = strdup(why)};
        return result.why != NULL && keep(report, result);
    }
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

static void print_way(const char *name, const struct cpu_report_method *way,
                      struct probe_line *line)
{
    char key[40];
    if (way->at_once == 0)
        return;
    snprintf(key, sizeof key, "%s_pairs_at_once", name);
    probe_line_integer(line, key, way->at_once);
    snprintf(key, sizeof key, "%s_pairs_ns", name);
    probe_line_integer(line, key, way->elapsed_ns);
    snprintf(key, sizeof key, "%s_pairs_verified", name);
    probe_line_integer(line, key, (int64_t)way->verified);
    if (way->verified == 0)
        return;
    snprintf(key, sizeof key, "%s_pairs_differing", name);
    probe_line_integer(line, key, (int64_t)way->differing);
    snprintf(key, sizeof key, "%s_pairs_worst_ratio", name);
    probe_line_number(line, key, way->worst_ratio);
}

/* Prints the outcome of measuring side by side. It is no condition: the daemon keeps conditions
 * once for all runs that share them. */
static void print_pairs(const struct cpu_report_pairs *pairs, struct probe_line *line)
{
    if (pairs->ways[0].at_once + pairs->ways[1].at_once == 0)
        return;
    probe_line_open(line, "statistics");
    print_way("store", &pairs->ways[0], line);
    print_way("cas", &pairs->ways[1], line);
    if (pairs->llc_pairs > 0) {
        probe_line_integer(line, "llc_pairs_checked", (int64_t)pairs->llc_pairs);
        probe_line_integer(line, "llc_pairs_differing", (int64_t)pairs->llc_differing);
        probe_line_number(line, "llc_pairs_worst_ratio", pairs->llc_worst_ratio);
    }
    probe_line_close(line);
}

bool cpu_report_end(struct cpu_report *report, const char *status, int64_t elapsed_ns)
{
    if (report->out == NULL)
        return true;
    struct probe_line line;
    probe_line_begin(&line, "end");
    probe_line_text(&line, "status", status);
    probe_line_integer(&line, "elapsed_ns", elapsed_ns);
    print_pairs(&report->pairs, &line);
    return probe_line_write(&line, report->out);
}

void cpu_report_done(struct cpu_report *report)
{
    for (size_t i = 0; i < report->kept_count; i++)
        free(report->kept[i].why);
    free(report->kept);
    *report = (struct cpu_report){0};
}
