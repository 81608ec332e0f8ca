#include "common/record.h"

#include <math.h>

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
