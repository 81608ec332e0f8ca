/* Evidence of an answer: a measured value in a line each, with the axes that are not as by default
 * (schema/metrics.def), under a heading with the times of measuring. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/answer.h"
#include "ui/axes.h"

/* Axes of a metric with their defaults: "bytes=large,kind=pinned"; "" for an unknown metric. */
static const char *axes_of(const char *metric)
{
    static const struct {
        const char *name, *axes;
    } metrics[] = {
#define X(id, name, unit, better, axes, about) {name, axes},
#include "metrics.def"
#undef X
    };
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
        if (strcmp(metrics[i].name, metric) == 0)
            return metrics[i].axes;
    return "";
}

/* True for an axis with its default, or that of the metric whose start a transfer_overhead is. */
static bool is_default(const char *metric, const char *of, const char *key, const char *value)
{
    char pair[256];
    size_t length = (size_t)snprintf(pair, sizeof pair, "%s=%s", key, value);
    const char *const lists[] = {axes_of(metric), axes_of(of)};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (const char *at = lists[i]; *at != '\0'; at += strcspn(at, ",")) {
            at += *at == ',';
            if (length < sizeof pair && strncmp(at, pair, length) == 0 &&
                (at[length] == ',' || at[length] == '\0'))
                return true;
        }
    return false;
}

void ui_axes_put(struct ui *line, const char *metric, const json_t *axes)
{
    const char *key, *separator = " with ", *of = ui_member(axes, "metric");
    const json_t *value;
    char bytes[UI_NUMBER];
    if (*of != '\0') {
        ui_put(line, " of ");
        ui_text(line, of);
    }
    json_object_foreach((json_t *)(uintptr_t)axes, key, value)
    {
        const char *text = json_is_string(value) ? json_string_value(value) : "?";
        if (strcmp(text, "-") == 0 || strcmp(key, "metric") == 0 ||
            is_default(metric, of, key, text))
            continue; /* does not apply, or stands already */
        ui_put(line, "%s", separator);
        ui_text(line, key);
        ui_put(line, "=");
        ui_text(line, ui_axis_value(key, text, bytes));
        separator = ", ";
    }
}

void ui_evidence_one(struct ui *ui, const json_t *item)
{
    struct ui line = {.utf8 = ui->utf8, .width = ui->width};
    char value[UI_NUMBER], low[UI_NUMBER], high[UI_NUMBER], interval[2 * UI_NUMBER + 8];
    const char *unit = ui_member(item, "unit"), *from = ui_member(item, "from"),
               *to = ui_member(item, "to"), *source = ui_member(item, "source");
    size_t flows = json_array_size(json_object_get(item, "flows"));
    ui_text(&line, ui_member(item, "metric"));
    ui_put(&line, " ");
    ui_text(&line, from);
    ui_put(&line, "%s", strcmp(from, to) == 0 ? "" : ui->utf8 ? " \u2192 " : " to ");
    ui_text(&line, strcmp(from, to) == 0 ? "" : to);
    ui_axes_put(&line, ui_member(item, "metric"), json_object_get(item, "axes"));
    if (flows > 0)
        ui_put(&line, ", %zu at once", flows);
    ui_put(&line, ": %s", ui_value(ui, value, ui_member_number(item, "value"), unit));
    ui_interval(ui, item, unit, interval, sizeof interval);
    ui_value(ui, low, ui_member_number(item, "low"), unit);
    ui_value(ui, high, ui_member_number(item, "high"), unit);
    if (*interval != '\0' && strcmp(low, high) != 0)
        ui_put(&line, " (%s)", interval);
    if (strcmp(source, "measured") != 0) {
        ui_put(&line, ", ");
        ui_text(&line, source);
    }
    ui_put(ui, "  ");
    ui_paragraph(ui, 4, line.text == NULL ? "" : line.text);
    ui->failed = ui->failed || line.failed;
    ui_done(&line);
}

void ui_evidence_heading(const json_t *evidence, char *text, size_t size)
{
    const json_t *item;
    int64_t first = INT64_MAX, last = 0;
    char one[UI_NUMBER], other[UI_NUMBER];
    size_t i;
    json_array_foreach(evidence, i, item)
    {
        int64_t at = json_integer_value(json_object_get(item, "measured_at_s"));
        if (at <= 0)
            continue;
        first = at < first ? at : first;
        last = at > last ? at : last;
    }
    snprintf(text, size, "Evidence%s%s%s%s", last > 0 ? ", measured " : "",
             last > 0 ? ui_when(one, first) : "", last > first ? " to " : "",
             last > first ? ui_when(other, last) : "");
}
