/* Evidence of an answer: measured values, those of one metric in a line, with the axes that are not
 * as by default (schema/metrics.def), under a heading with the times of measuring. */
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

/* True for values that differ in their places, numbers and times alone. */
static bool is_like(const json_t *a, const json_t *b)
{
    return strcmp(ui_member(a, "metric"), ui_member(b, "metric")) == 0 &&
           strcmp(ui_member(a, "source"), ui_member(b, "source")) == 0 &&
           json_equal(json_object_get(a, "axes"), json_object_get(b, "axes")) &&
           json_array_size(json_object_get(a, "flows")) ==
               json_array_size(json_object_get(b, "flows"));
}

/* Index of the next value like that one; the number of all where there is none. */
static size_t find_like(const json_t *evidence, size_t index)
{
    size_t i = index + 1;
    while (i < json_array_size(evidence) &&
           !is_like(json_array_get(evidence, i), json_array_get(evidence, index)))
        i++;
    return i;
}

static void put_places(struct ui *line, const json_t *item)
{
    const char *from = ui_member(item, "from"), *to = ui_member(item, "to");
    ui_text(line, from);
    ui_put(line, "%s", strcmp(from, to) == 0 ? "" : line->utf8 ? " \u2192 " : " to ");
    ui_text(line, strcmp(from, to) == 0 ? "" : to);
}

/* Writes "55.2 GB/s (54.4 to 55.5 GB/s)". */
static void write_value(const struct ui *ui, const json_t *item, char *text, size_t size)
{
    char value[UI_NUMBER], low[UI_NUMBER], high[UI_NUMBER], interval[2 * UI_NUMBER + 8];
    const char *unit = ui_member(item, "unit");
    ui_interval(ui, item, unit, interval, sizeof interval);
    ui_value(ui, low, ui_member_number(item, "low"), unit);
    ui_value(ui, high, ui_member_number(item, "high"), unit);
    bool has_interval = *interval != '\0' && strcmp(low, high) != 0;
    snprintf(text, size, "%s%s%s%s", ui_value(ui, value, ui_member_number(item, "value"), unit),
             has_interval ? " (" : "", has_interval ? interval : "", has_interval ? ")" : "");
}

void ui_evidence_put(struct ui *ui, const json_t *evidence, size_t index)
{
    struct ui line = {.utf8 = ui->utf8, .width = ui->width};
    const json_t *item = json_array_get(evidence, index);
    const char *source = ui_member(item, "source");
    size_t count = json_array_size(evidence),
           flows = json_array_size(json_object_get(item, "flows"));
    char value[4 * UI_NUMBER], later[4 * UI_NUMBER];
    for (size_t i = 0; i < index; i++)
        if (is_like(json_array_get(evidence, i), item))
            return; /* stands there */
    ui_text(&line, ui_member(item, "metric"));
    struct ui axes = {.utf8 = ui->utf8, .width = ui->width};
    ui_axes_put(&axes, ui_member(item, "metric"), json_object_get(item, "axes"));
    ui_put(&line, "%s%s ", axes.text == NULL ? "" : axes.text, axes.text == NULL ? "" : ",");
    for (size_t i = index, next; i < count; i = next) {
        next = find_like(evidence, i);
        put_places(&line, json_array_get(evidence, i));
        write_value(ui, json_array_get(evidence, i), value, sizeof value);
        if (next < count)
            write_value(ui, json_array_get(evidence, next), later, sizeof later);
        if (next < count && strcmp(value, later) == 0) {
            ui_put(&line, ", ");
            continue;
        }
        if (flows > 0)
            ui_put(&line, ", %zu at once", flows);
        ui_put(&line, ": %s%s", value, next < count ? "; " : "");
    }
    if (strcmp(source, "measured") != 0) {
        ui_put(&line, ", ");
        ui_text(&line, source);
    }
    ui_put(ui, "  ");
    ui_paragraph(ui, 4, line.text == NULL ? "" : line.text);
    ui->failed = ui->failed || line.failed || axes.failed;
    ui_done(&line);
    ui_done(&axes);
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

/* Appends a series, "METRIC FROM TO AXIS=VALUE;AXIS=VALUE". */
static void put_series(struct ui *line, const char *series)
{
    for (size_t length; (length = strcspn(series, " ;")) > 0;) {
        char word[64], number[UI_NUMBER], *value;
        snprintf(word, sizeof word, "%.*s", (int)length, series);
        value = strchr(word, '=');
        if (value != NULL)
            *value++ = '\0';
        ui_text(line, word);
        ui_put(line, "%s", value != NULL ? "=" : "");
        ui_text(line, value != NULL ? ui_axis_value(word, value, number) : "");
        series += length;
        ui_put(line, "%s", *series == ';' ? ", " : *series != '\0' ? " " : "");
        series += *series != '\0';
    }
}

void ui_slow_value(struct ui *ui, const json_t *value)
{
    const char *unit = ui_member(value, "unit");
    char number[UI_NUMBER], other[UI_NUMBER];
    struct ui line = {.utf8 = ui->utf8, .width = ui->width};
    put_series(&line, ui_member(value, "series"));
    ui_put(&line, ": %s, expected %s", ui_value(ui, number, ui_member_number(value, "value"), unit),
           ui_value(ui, other, ui_member_number(value, "expected"), unit));
    ui_pad(ui, 12);
    ui_paragraph(ui, 14, line.text == NULL ? "" : line.text);
    ui->failed = ui->failed || line.failed;
    ui_done(&line);
}
