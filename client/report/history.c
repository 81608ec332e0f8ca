/* Chart of a series over time, in SVG. */
#include "report/report.h"

#include <math.h>
#include <string.h>

#include "picture/picture.h"
#include "ui/answer.h"
#include "ui/ends.h"

#define WIDTH  560.0
#define HEIGHT 110.0
#define LEFT   8.0

#define SPAN_LEAST 0.1 /* of the value */

struct scale {
    double from_s, to_s, least, most;
};

static double x_of(const struct scale *scale, double at_s)
{
    return LEFT + (scale->to_s > scale->from_s
                       ? (at_s - scale->from_s) / (scale->to_s - scale->from_s)
                       : 0.5) *
                      (WIDTH - 2 * LEFT);
}

/* The middle half of the height spans least to most; a flat line is in the middle. */
static double y_of(const struct scale *scale, double value)
{
    double span = scale->most > scale->least ? scale->most - scale->least : 1;
    return HEIGHT - 20 -
           (scale->most > scale->least ? (value - scale->least) / span : 0.5) * (HEIGHT - 40);
}

static bool is_point(const json_t *point)
{
    return json_is_integer(json_object_get(point, "measured_at_s")) &&
           json_is_number(json_object_get(point, "value"));
}

static struct scale scale_of(const json_t *points, double expected, size_t *ret_count)
{
    struct scale scale = {INFINITY, -INFINITY, expected > 0 ? expected : INFINITY,
                          expected > 0 ? expected : -INFINITY};
    const json_t *point;
    size_t i;
    *ret_count = 0;
    json_array_foreach(points, i, point)
    {
        if (!is_point(point))
            continue;
        double at = (double)json_integer_value(json_object_get(point, "measured_at_s")),
               value = json_number_value(json_object_get(point, "value"));
        scale = (struct scale){fmin(scale.from_s, at), fmax(scale.to_s, at),
                               fmin(scale.least, value), fmax(scale.most, value)};
        ++*ret_count;
    }
    return scale;
}

/* A difference of a few percent is no cliff: the height spans a tenth of the value at least. */
static void widen(struct scale *scale)
{
    double middle = (scale->least + scale->most) / 2, half = (scale->most - scale->least) / 2;
    half = fmax(half, fabs(middle) * SPAN_LEAST / 2);
    scale->least = middle - half;
    scale->most = middle + half;
}

static void put_line(struct ui *page, const json_t *points, const struct scale *scale)
{
    const json_t *point;
    size_t i;
    ui_put(page, "<polyline fill=\"none\" stroke=\"#1565c0\" stroke-width=\"1.5\" points=\"");
    json_array_foreach(points, i, point)
    {
        if (is_point(point))
            ui_put(page, "%.1f,%.1f ",
                   x_of(scale, (double)json_integer_value(json_object_get(point, "measured_at_s"))),
                   y_of(scale, json_number_value(json_object_get(point, "value"))));
    }
    ui_put(page, "\"/>\n");
}

static void put_mark(struct ui *page, const json_t *finding, const char *key,
                     const struct scale *scale)
{
    const json_t *at = json_object_get(finding, key);
    double at_s = (double)json_integer_value(at);
    bool is_begin = strcmp(key, "since_s") == 0;
    if (!json_is_integer(at) || at_s < scale->from_s || at_s > scale->to_s)
        return;
    double x = x_of(scale, at_s);
    ui_put(page, "<path class=\"%s\" d=\"M%.1f 16v%.0f\" stroke=\"%s\"><title>%s",
           is_begin ? "began" : "cleared", x, HEIGHT - 34, is_begin ? "#c62828" : "#2e7d32",
           is_begin ? "" : "cleared: ");
    picture_text(page, ui_member(finding, "text"));
    ui_put(page, "</title></path>\n");
}

/* Marks findings from values at one of the series' places. */
static void put_findings(struct ui *page, const struct report_series *series,
                         const struct scale *scale)
{
    const json_t *finding;
    size_t i;
    json_array_foreach(json_object_get(series->changes, "findings"), i, finding)
    {
        const char *place = ui_member(finding, "place");
        bool is_here = strcmp(place, series->from) == 0 || strcmp(place, series->to) == 0 ||
                       strcmp(place, "machine0") == 0;
        if (!is_here || !json_is_number(json_object_get(finding, "value")))
            continue;
        put_mark(page, finding, "since_s", scale);
        put_mark(page, finding, "cleared_s", scale);
    }
}

/* Draws the expected value, and the band within which no value is a finding. */
static void put_baseline(struct ui *page, const json_t *baseline, const struct scale *scale)
{
    double expected = json_number_value(json_object_get(baseline, "expected"));
    const json_t *worse = json_object_get(baseline, "worse_beyond"),
                 *better = json_object_get(baseline, "better_beyond");
    if (!(expected > 0))
        return;
    if (json_is_number(worse) && json_is_number(better)) {
        double one = fmin(fmax(y_of(scale, json_number_value(worse)), 0), HEIGHT),
               other = fmin(fmax(y_of(scale, json_number_value(better)), 0), HEIGHT);
        ui_put(page,
               "<rect class=\"band\" x=\"%.0f\" y=\"%.1f\" width=\"%.0f\" height=\"%.1f\"/>\n",
               LEFT, fmin(one, other), WIDTH - 2 * LEFT, fabs(one - other));
    }
    ui_put(page,
           "<line x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#2e7d32\" "
           "stroke-dasharray=\"4 3\"><title>expected</title></line>\n",
           LEFT, WIDTH - LEFT, y_of(scale, expected), y_of(scale, expected));
}

bool report_history(struct ui *page, const struct report_series *series)
{
    const json_t *points = json_object_get(series->history, "points");
    const json_t *baseline = json_object_get(series->baseline, "baseline");
    double expected = json_number_value(json_object_get(baseline, "expected"));
    const char *unit = ui_member(series->baseline, "unit");
    char first[UI_NUMBER], last[UI_NUMBER];
    size_t count;
    struct scale scale = scale_of(points, expected, &count);
    if (count < 2)
        return false;
    ui_put(page, "<div class=\"card\"><h3>");
    picture_text(page, series->metric);
    ui_put(page, " from ");
    picture_text(page, ui_place(series->from, first));
    ui_put(page, " to ");
    picture_text(page, ui_place(series->to, last));
    ui_put(page, "</h3>\n<svg viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" role=\"img\">\n", WIDTH,
           HEIGHT, WIDTH);
    ui_put(page, "<text x=\"%.0f\" y=\"12\">", LEFT);
    ui_ends_range(page, scale.least, scale.most, unit);
    ui_put(page, ", %zu points%s</text>", count, expected > 0 ? "; dashed: the baseline" : "");
    widen(&scale);
    put_baseline(page, baseline, &scale);
    put_line(page, points, &scale);
    put_findings(page, series, &scale);
    ui_put(page,
           "<text x=\"%.0f\" y=\"%.0f\">%s</text><text x=\"%.0f\" y=\"%.0f\" "
           "text-anchor=\"end\">%s</text>\n</svg></div>\n",
           LEFT, HEIGHT - 4, ui_when(first, (int64_t)scale.from_s), WIDTH - LEFT, HEIGHT - 4,
           ui_when(last, (int64_t)scale.to_s));
    return true;
}
