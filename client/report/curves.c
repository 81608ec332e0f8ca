/* Curves of transfers by size, in SVG: both axes logarithmic, measured points with intervals. */
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "picture/picture.h"
#include "ui/answer.h"
#include "ui/cells.h"

#define WIDTH       560.0
#define HEIGHT      300.0
#define LEFT        64.0
#define BOTTOM      36.0
#define POINTS_MOST 1024
#define PAIRS_MOST  24
#define COLOURS     8

struct point {
    const char *from, *to;
    double bytes, rate, low, high; /* low and high NAN unknown */
    int64_t at_s;                  /* when it was measured; 0 unknown */
    bool is_old;                   /* before the pair's latest measurement */
    size_t colour;
};

struct plot {
    struct ui *page;
    struct point *point; /* by pair, then ascending by size */
    size_t count;
    double least_bytes, most_bytes, least, most;
    bool by_place; /* a colour is of a place, not of a pair */
};

static const char *const colours[COLOURS] = {"#1f77b4", "#d62728", "#2ca02c", "#ff7f0e",
                                             "#9467bd", "#8c564b", "#e377c2", "#17becf"};

static double x_of(const struct plot *plot, double bytes)
{
    return LEFT + (WIDTH - LEFT - 12) * log(bytes / plot->least_bytes) /
                      fmax(log(plot->most_bytes / plot->least_bytes), 1e-9);
}

static double y_of(const struct plot *plot, double rate)
{
    return HEIGHT - BOTTOM -
           (HEIGHT - BOTTOM - 12) * log(rate / plot->least) /
               fmax(log(plot->most / plot->least), 1e-9);
}

static int compare(const void *a, const void *b)
{
    const struct point *one = a, *other = b;
    int order = ui_compare_names(one->from, other->from);
    order = order == 0 ? ui_compare_names(one->to, other->to) : order;
    return order != 0 ? order : (one->bytes > other->bytes) - (one->bytes < other->bytes);
}

/* True for a cell at the metric's default axes but for its size. */
static bool is_default(const json_t *cell, const json_t *defaults)
{
    const json_t *axes = json_object_get(cell, "axes"), *value;
    const char *key;
    json_object_foreach((json_t *)(uintptr_t)axes, key, value)
    {
        if (strcmp(key, "bytes") != 0 && !json_equal(value, json_object_get(defaults, key)))
            return false;
    }
    return true;
}

static void collect(struct plot *plot, const json_t *metric, const json_t *matrix)
{
    const json_t *cell;
    size_t i;
    json_array_foreach(json_object_get(matrix, "cells"), i, cell)
    {
        double bytes = atof(ui_member(json_object_get(cell, "axes"), "bytes")),
               rate = ui_member_number(cell, "value");
        if (!(bytes > 0) || !isfinite(bytes) || !(rate > 0) || plot->count == POINTS_MOST ||
            strcmp(ui_member(cell, "source"), "measured") != 0 ||
            !is_default(cell, json_object_get(metric, "defaults")))
            continue;
        plot->point[plot->count++] =
            (struct point){.from = ui_member(cell, "from"),
                           .to = ui_member(cell, "to"),
                           .bytes = bytes,
                           .rate = rate,
                           .low = ui_member_number(cell, "low"),
                           .high = ui_member_number(cell, "high"),
                           .at_s = json_integer_value(json_object_get(cell, "measured_at_s"))};
        plot->least_bytes = fmin(plot->least_bytes, bytes);
        plot->most_bytes = fmax(plot->most_bytes, bytes);
        plot->least = fmin(plot->least, rate);
        plot->most = fmax(plot->most, rate);
    }
    qsort(plot->point, plot->count, sizeof *plot->point, compare);
}

static void put_rate_line(const struct plot *plot, double rate)
{
    char number[UI_NUMBER];
    double y = y_of(plot, rate);
    if (rate < plot->least || rate > plot->most)
        return;
    ui_put(plot->page,
           "<line x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\" class=\"grid\"/><text "
           "x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
           LEFT, WIDTH - 12, y, y, LEFT - 6, y + 4, ui_rate(number, rate));
}

/* Lines at powers of ten of the rate, between them too where there are few; and of 1024 of the
 * size (1 KiB, 1 MiB, 1 GiB), of 16 where there are few. */
static void put_grid(const struct plot *plot)
{
    char number[UI_NUMBER];
    bool has_few = log10(plot->most / plot->least) < 2;
    int last = (int)floor(log10(plot->most));
    for (int power = (int)floor(log10(plot->least)); power <= last; power++) {
        put_rate_line(plot, pow(10, power));
        if (has_few) {
            put_rate_line(plot, 2 * pow(10, power));
            put_rate_line(plot, 5 * pow(10, power));
        }
    }
    double first_bytes = log2(plot->least_bytes), last_bytes = log2(plot->most_bytes);
    int step = floor(last_bytes / 10) > ceil(first_bytes / 10) ? 10 : 4;
    for (int power = step * (int)ceil(first_bytes / step); power <= last_bytes; power += step) {
        double bytes = pow(2, power), x = x_of(plot, bytes);
        ui_put(plot->page,
               "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"12\" y2=\"%.0f\" class=\"grid\"/><text "
               "x=\"%.1f\" y=\"%.0f\" text-anchor=\"%s\">%s</text>\n",
               x, x, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 16, x > WIDTH - 40 ? "end" : "middle",
               ui_count_bytes(number, (int64_t)bytes));
    }
}

static bool is_same_pair(const struct point *a, const struct point *b)
{
    return strcmp(a->from, b->from) == 0 && strcmp(a->to, b->to) == 0;
}

/* Marks the points that the latest measurement of their pair has left out: quick ones measure a few
 * sizes. A pair that got slower since then would have a curve of two nodes. Returns whether there
 * are any. */
static bool mark_old(struct plot *plot)
{
    bool is_any = false;
    for (size_t first = 0, end; first < plot->count; first = end) {
        int64_t latest_s = 0;
        for (end = first; end < plot->count && is_same_pair(&plot->point[end], &plot->point[first]);
             end++)
            latest_s = plot->point[end].at_s > latest_s ? plot->point[end].at_s : latest_s;
        for (size_t i = first; i < end; i++) {
            plot->point[i].is_old = plot->point[i].at_s < latest_s;
            is_any = is_any || plot->point[i].is_old;
        }
    }
    return is_any;
}

/* Gives each pair a colour; where they are more than colours, all pairs from one place have one. */
static void give_colours(struct plot *plot)
{
    size_t pairs = 0;
    for (size_t i = 0; i < plot->count; i++)
        pairs += i == 0 || !is_same_pair(&plot->point[i - 1], &plot->point[i]);
    plot->by_place = pairs > COLOURS;
    size_t colour = 0;
    for (size_t i = 0; i < plot->count; i++) {
        const struct point *before = &plot->point[i > 0 ? i - 1 : 0], *point = &plot->point[i];
        colour +=
            plot->by_place ? strcmp(before->from, point->from) != 0 : !is_same_pair(before, point);
        plot->point[i].colour = colour;
    }
}

static void put_legend(const struct plot *plot)
{
    ui_put(plot->page, "<p>");
    for (size_t i = 0; i < plot->count; i++) {
        const struct point *point = &plot->point[i];
        if (i > 0 && point->colour == point[-1].colour)
            continue;
        ui_put(plot->page,
               "<span class=\"key\"><svg width=\"14\" height=\"6\" viewBox=\"0 0 14 6\"><rect "
               "width=\"14\" height=\"6\" fill=\"%s\"/></svg>%s",
               colours[point->colour % COLOURS], plot->by_place ? "from " : "");
        picture_text(plot->page, point->from);
        if (!plot->by_place) {
            ui_put(plot->page, " to ");
            picture_text(plot->page, point->to);
        }
        ui_put(plot->page, "</span>\n");
    }
    ui_put(plot->page, "</p>\n");
}

/* The line through a pair's points of its latest measurement, or through its old ones; returns the
 * index behind the pair. */
static size_t put_line(const struct plot *plot, size_t first, const char *colour, bool of_old)
{
    const struct point *points = plot->point;
    size_t end = first;
    ui_put(plot->page, "<polyline fill=\"none\" stroke=\"%s\" stroke-opacity=\".6\"%s points=\"",
           colour, of_old ? " stroke-dasharray=\"2 4\"" : "");
    for (; end < plot->count && is_same_pair(&points[end], &points[first]); end++)
        if (points[end].is_old == of_old)
            ui_put(plot->page, "%.1f,%.1f ", x_of(plot, points[end].bytes),
                   y_of(plot, points[end].rate));
    ui_put(plot->page, "\"/>\n");
    return end;
}

/* The points of one pair; returns the index behind them. */
static size_t put_pair(const struct plot *plot, size_t first)
{
    const struct point *points = plot->point;
    const char *colour = colours[points[first].colour % COLOURS];
    char rate[UI_NUMBER], bytes[UI_NUMBER], low[UI_NUMBER], high[UI_NUMBER], when[UI_NUMBER];
    size_t end = put_line(plot, first, colour, false);
    put_line(plot, first, colour, true);
    for (size_t i = first; i < end; i++) {
        const struct point *point = &points[i];
        double x = x_of(plot, point->bytes);
        if (point->low > 0 && point->high > 0)
            ui_put(plot->page,
                   "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", x, x,
                   y_of(plot, fmax(point->low, plot->least)),
                   y_of(plot, fmin(point->high, plot->most)), colour);
        ui_put(plot->page,
               "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\" stroke=\"%s\" fill=\"%s\"><title>", x,
               y_of(plot, point->rate), colour, point->is_old ? "none" : colour);
        picture_text(plot->page, point->from);
        ui_put(plot->page, " to ");
        picture_text(plot->page, point->to);
        ui_put(plot->page, ", %s: %s", ui_count_bytes(bytes, (int64_t)point->bytes),
               ui_rate(rate, point->rate));
        if (point->low > 0 && point->high > 0)
            ui_put(plot->page, " (%s to %s)", ui_rate(low, point->low), ui_rate(high, point->high));
        if (point->at_s > 0)
            ui_put(plot->page, ", %s", ui_when(when, point->at_s));
        ui_put(plot->page, "</title></circle>\n");
    }
    return end;
}

bool report_curves(struct ui *page, const json_t *metric, const json_t *matrix)
{
    struct plot plot = {.page = page,
                        .point = calloc(POINTS_MOST, sizeof *plot.point),
                        .least_bytes = INFINITY,
                        .least = INFINITY};
    page->failed = page->failed || plot.point == NULL;
    if (plot.point != NULL)
        collect(&plot, metric, matrix);
    bool is_any = plot.count > 1 && plot.most_bytes > plot.least_bytes && plot.most > plot.least;
    if (is_any) {
        ui_put(page, "<div class=\"card\"><h3>");
        picture_text(page, ui_member(metric, "name"));
        ui_put(page,
               "</h3>\n<div class=\"scroll\"><svg class=\"plot\" viewBox=\"0 0 %.0f %.0f\" "
               "width=\"%.0f\" role=\"img\">\n",
               WIDTH, HEIGHT, WIDTH);
        put_grid(&plot);
        give_colours(&plot);
        bool has_old = mark_old(&plot);
        for (size_t i = 0, pair = 0; i < plot.count && pair < PAIRS_MOST; pair++)
            i = put_pair(&plot, i);
        ui_put(page, "</svg></div>\n");
        put_legend(&plot);
        ui_put(page, "%s</div>\n",
               has_old
                   ? "<p>Hollow and dashed: measured before the latest measurement of the pair, "
                     "which left these sizes out.</p>\n"
                   : "");
    }
    free(plot.point);
    return is_any;
}
