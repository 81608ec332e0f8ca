#include "common/record.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

void probe_axes_add(struct probe_axes *axes, const char *key, const char *format, ...)
{
    assert(axes->count < PROBE_AXES_MAX);
    va_list args;
    va_start(args, format);
    snprintf(axes->text[2 * axes->count], sizeof axes->text[0], "%s", key);
    vsnprintf(axes->text[2 * axes->count + 1], sizeof axes->text[0], format, args);
    va_end(args);
    axes->count++;
}

void probe_axes_print(const struct probe_axes *axes, struct probe_line *line)
{
    probe_line_open(line, "axes");
    for (size_t i = 0; i < axes->count; i++)
        probe_line_text(line, axes->text[2 * i], axes->text[2 * i + 1]);
    probe_line_close(line);
}

void probe_record_begin(struct probe_line *line, const char *record, enum probe_metric metric,
                        const char *from, const char *to, const struct probe_axes *axes)
{
    probe_line_begin(line, record);
    probe_line_text(line, "metric", probe_metric_name(metric));
    probe_line_text(line, "from", from);
    probe_line_text(line, "to", to);
    probe_axes_print(axes, line);
}

void probe_record_value(struct probe_line *line, const struct probe_summary *summary)
{
    probe_line_number(line, "value", summary->value);
    if (isfinite(summary->low) && isfinite(summary->high)) {
        probe_line_number(line, "low", summary->low);
        probe_line_number(line, "high", summary->high);
    }
    probe_line_integer(line, "n", summary->n);
}

void probe_record_sample(struct probe_line *line, const struct probe_sample *sample)
{
    probe_line_open(line, NULL);
    probe_line_integer(line, "bytes", sample->bytes);
    probe_line_number(line, "median_ns", sample->ns.value);
    if (isfinite(sample->ns.low) && isfinite(sample->ns.high)) {
        probe_line_number(line, "low_ns", sample->ns.low);
        probe_line_number(line, "high_ns", sample->ns.high);
    }
    probe_line_integer(line, "n", sample->ns.n);
    probe_line_close(line);
}

void probe_record_progress(struct probe_line *line, size_t done, size_t total)
{
    probe_line_begin(line, "progress");
    probe_line_integer(line, "done", (int64_t)done);
    probe_line_integer(line, "total", (int64_t)total);
}

struct probe_summary probe_record_rate(const struct probe_sample *sample)
{
    double scale = (double)sample->bytes * 1e9;
    return (struct probe_summary){scale / sample->ns.value, scale / sample->ns.high,
                                  scale / sample->ns.low, sample->ns.n};
}
