/* Table of a matrix with coloured cells, in HTML, and its worst value. */
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "picture/picture.h"
#include "ui/answer.h"
#include "ui/axes.h"
#include "ui/cells.h"
#include "ui/ends.h"

#define MOST_DRAWN   288 /* most rows or columns */
#define MOST_TABLE   16  /* more are a picture */
#define HALF         570 /* width of half the page */
#define TITLE_MOST   96
#define PHONE        320
#define SQUARE_LEAST 6 /* side of a cell in the picture */
#define SQUARE_MOST  14
#define NAMES        64 /* room for names of rows */
#define AXES_BYTES   512

/* A map as it is drawn: its values' range, their one unit, and their source where all have one. */
struct map {
    struct ui *page;
    const struct ui_group *group;
    const char *unit;   /* of the wire */
    const char *source; /* NULL: several */
    char shown_unit[UI_NUMBER];
    double least, most, scale; /* a cell shows its value divided by scale */
    bool is_higher_better;
};

static bool is_better_higher(const json_t *metric)
{
    return strcmp(ui_member(metric, "better"), "higher") == 0;
}

/* Colours from green for the best over yellow to red, by the logarithm, because values of a matrix
 * differ by factors. Red is half as good as the best, or the worst value when that is even worse.
 */
static int hue(double value, const struct map *map)
{
    double away = map->is_higher_better ? log(map->most / value) : log(value / map->least);
    double share = 1 - fmin(1, away / fmax(log(map->most / map->least), log(2)));
    return (int)lround(8 + 127 * share);
}

/* Writes where a cell leads, its source and time, interval, repetitions and axes, or why it is
 * missing. */
static void put_tip(const struct map *map, const struct ui_one_cell *cell)
{
    struct ui *page = map->page;
    const char *unit = map->unit;
    char low[UI_NUMBER], high[UI_NUMBER], when[UI_NUMBER], axes[AXES_BYTES];
    picture_text(page, ui_place(cell->from, low));
    ui_put(page, " to ");
    picture_text(page, ui_place(cell->to, low));
    if (cell->why_not != NULL) {
        ui_put(page, ": ");
        picture_text(page, cell->why_not);
        return;
    }
    ui_put(page, ", ");
    picture_text(page, cell->source);
    if (cell->measured_at_s > 0)
        ui_put(page, " %s", ui_when(when, cell->measured_at_s));
    if (!isnan(cell->low) && !isnan(cell->high))
        ui_put(page,
               strcmp(cell->source, "measured") == 0 ? ", 95 %% %s to %s"
                                                     : ", stated range %s to %s",
               ui_value(page, low, cell->low, unit), ui_value(page, high, cell->high, unit));
    if (cell->repetitions > 0)
        ui_put(page, ", %ld repetitions", cell->repetitions);
    ui_axes_text(NULL, map->group, axes, sizeof axes);
    ui_put(page, "%s", *axes != '\0' ? ", " : "");
    picture_text(page, axes);
}

static void put_cell(const struct map *map, const struct ui_one_cell *cell)
{
    struct ui *page = map->page;
    char number[UI_NUMBER];
    ui_put(page, "<td");
    if (cell->from == NULL) {
        ui_put(page, "></td>");
        return;
    }
    if (cell->value > 0)
        ui_put(page, " style=\"--h:%d\"", hue(cell->value, map));
    ui_put(page, " title=\"");
    put_tip(map, cell);
    const char *mark = map->source != NULL                      ? ""
                       : strcmp(cell->source, "published") == 0 ? " p"
                       : strcmp(cell->source, "nominal") == 0   ? " n"
                                                                : "";
    ui_put(page, "\">%s%s</td>",
           isnan(cell->value) ? "&ndash;" : ui_digits(number, cell->value / map->scale),
           isnan(cell->value) ? "" : mark);
}

/* One unit for all cells: that in which the least value has a digit before its point. */
static void choose_unit(struct map *map)
{
    static const struct {
        const char *unit, *shown;
        double scale;
    } units[] = {{"bytes_per_s", "GB/s", 1e9},
                 {"bytes_per_s", "MB/s", 1e6},
                 {"bytes_per_s", "kB/s", 1e3},
                 {"bytes_per_s", "B/s", 0},
                 {"ns", "s", 1e9},
                 {"ns", "ms", 1e6},
                 {"ns", "\u00b5s", 1e3},
                 {"ns", "ns", 0}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(units[i].unit, map->unit) == 0 && map->least >= units[i].scale) {
            snprintf(map->shown_unit, sizeof map->shown_unit, "%s", units[i].shown);
            map->scale = fmax(units[i].scale, 1);
            return;
        }
    char number[UI_NUMBER];
    const char *unit = strchr(ui_value(map->page, number, map->least, map->unit), ' ');
    snprintf(map->shown_unit, sizeof map->shown_unit, "%s", unit == NULL ? "" : unit + 1);
    map->scale = 1;
}

/* False for a map without values. */
static bool read_map(struct map *map)
{
    const struct ui_group *group = map->group;
    bool is_one_source = true;
    map->least = INFINITY;
    for (size_t i = 0; i < group->rows * group->columns; i++) {
        const struct ui_one_cell *cell = &group->cell[i];
        if (cell->from == NULL || !(cell->value > 0))
            continue;
        map->least = fmin(map->least, cell->value);
        map->most = fmax(map->most, cell->value);
        is_one_source =
            is_one_source && (map->source == NULL || strcmp(map->source, cell->source) == 0);
        map->source = cell->source;
    }
    map->source = is_one_source ? map->source : NULL;
    choose_unit(map);
    return map->most > 0;
}

static bool is_picture(const struct ui_group *group)
{
    return group->rows > MOST_TABLE || group->columns > MOST_TABLE;
}

/* Side of a cell in the picture, so that it fits half of the page where it can. */
static size_t square_of(const struct ui_group *group)
{
    size_t side = (HALF - NAMES) / group->columns;
    return side < SQUARE_LEAST ? SQUARE_LEAST : side > SQUARE_MOST ? SQUARE_MOST : side;
}

/* Pixels of a column: its name or a number of four digits, in 13 px, and padding. */
static size_t column_width(const char *name)
{
    size_t letters = strlen(name) > 4 ? strlen(name) : 4;
    return letters * 10 + 14;
}

/* Pixels that the map takes, at most. */
static size_t width_of(const struct ui_group *group)
{
    size_t width = 0;
    char place[UI_NUMBER];
    if (is_picture(group))
        return NAMES + group->columns * square_of(group);
    for (size_t r = 0; r < group->rows; r++)
        if (column_width(ui_place(group->row[r], place)) > width)
            width = column_width(ui_place(group->row[r], place));
    for (size_t c = 0; c < group->columns; c++)
        width += column_width(group->column[c]);
    return width;
}

/* Draws a large matrix as small squares; the tip of each has its value. */
static void put_squares(const struct map *map)
{
    const struct ui_group *group = map->group;
    struct ui *page = map->page;
    char place[UI_NUMBER];
    size_t side = square_of(group), width = width_of(group), height = 14 + group->rows * side;
    ui_put(page,
           "<div class=\"scroll\"><svg class=\"squares\" viewBox=\"0 0 %zu %zu\" width=\"%zu\" "
           "role=\"img\">\n",
           width, height, width);
    for (size_t r = 0; r < group->rows; r++) {
        if (r % 8 == 0) {
            ui_put(page, "<text x=\"%d\" y=\"%zu\" text-anchor=\"end\">", NAMES - 4,
                   14 + r * side + side);
            picture_text(page, ui_place(group->row[r], place));
            ui_put(page, "</text>\n");
        }
        for (size_t c = 0; c < group->columns; c++) {
            const struct ui_one_cell *cell = &group->cell[r * group->columns + c];
            char number[UI_NUMBER];
            if (cell->from == NULL || !(cell->value > 0))
                continue;
            ui_put(page,
                   "<rect x=\"%zu\" y=\"%zu\" width=\"%zu\" height=\"%zu\" "
                   "style=\"--h:%d\"><title>%s: ",
                   NAMES + c * side, 14 + r * side, side - 1, side - 1, hue(cell->value, map),
                   ui_value(page, number, cell->value, map->unit));
            put_tip(map, cell);
            ui_put(page, "</title></rect>\n");
        }
    }
    for (size_t c = 0; c + 4 < group->columns; c += 8) { /* a name takes four squares */
        ui_put(page, "<text x=\"%zu\" y=\"10\">", NAMES + c * side);
        picture_text(page, group->column[c]);
        ui_put(page, "</text>\n");
    }
    ui_put(page, "</svg></div>\n");
}

static void put_table(const struct map *map)
{
    const struct ui_group *group = map->group;
    struct ui *page = map->page;
    char place[UI_NUMBER];
    ui_put(page, "<div class=\"scroll\"><table class=\"heat\"><tr><th class=\"t\">from\\to</th>");
    for (size_t c = 0; c < group->columns; c++) {
        ui_put(page, "<th>");
        picture_text(page, group->column[c]);
        ui_put(page, "</th>");
    }
    ui_put(page, "</tr>\n");
    for (size_t r = 0; r < group->rows; r++) {
        ui_put(page, "<tr><th class=\"t\">");
        picture_text(page, ui_place(group->row[r], place));
        ui_put(page, "</th>");
        for (size_t c = 0; c < group->columns; c++)
            put_cell(map, &group->cell[r * group->columns + c]);
        ui_put(page, "</tr>\n");
    }
    ui_put(page, "</table></div>\n");
}

/* Draws the title with unit and source, and what is measured. */
static void put_about(const struct map *map, const json_t *metric)
{
    struct ui *page = map->page;
    const char *about = ui_member(metric, "about"); /* its first clause is its title */
    char title[TITLE_MOST];
    bool is_wide = width_of(map->group) > HALF;
    ui_put(page, "<div class=\"card%s\"><h3>", is_wide ? " wide" : "");
    picture_text(page, ui_member(metric, "name"));
    ui_put(page, "%s%s", *map->shown_unit == '\0' ? "" : ", ", map->shown_unit);
    if (map->source != NULL && strcmp(map->source, "measured") != 0) {
        ui_put(page, ", ");
        picture_text(page, map->source);
    }
    ui_put(page, " <span class=\"small\">");
    picture_text(page, map->group->axes);
    ui_put(page, "</span></h3>\n<details class=\"small\"><summary>");
    snprintf(title, sizeof title, "%.*s", (int)strcspn(about, ":;,"), about);
    picture_text(page, title);
    ui_put(page, ": ");
    ui_ends_range(page, map->least, map->most, map->unit);
    ui_put(page, ", %s is better</summary>", map->is_higher_better ? "higher" : "lower");
    picture_text(page, about);
    ui_put(page, "</details>\n");
    if (width_of(map->group) > PHONE)
        report_hint(page);
}

bool report_matrix(struct ui *page, const json_t *metric, const json_t *matrix)
{
    struct ui_cells *cells = ui_cells_new(json_object_get(matrix, "cells"));
    bool is_any = cells != NULL && cells->count > 0;
    struct map map = {.page = page,
                      .group = is_any ? &cells->group[0] : NULL,
                      .unit = ui_member(matrix, "unit"),
                      .is_higher_better = is_better_higher(metric)};
    page->failed = page->failed || cells == NULL;
    is_any = is_any && read_map(&map);
    if (is_any) {
        put_about(&map, metric);
        if (map.group->rows > MOST_DRAWN || map.group->columns > MOST_DRAWN) {
            ui_put(page, "<p>%zu rows and %zu columns: <code>berth matrix ", map.group->rows,
                   map.group->columns);
            picture_text(page, ui_member(metric, "name"));
            ui_put(page, "</code> has all of them.</p>\n");
        } else if (is_picture(map.group)) {
            put_squares(&map);
        } else {
            put_table(&map);
        }
        ui_put(page, "</div>\n");
    }
    if (cells != NULL)
        ui_cells_free(cells);
    return is_any;
}

bool report_worst(const json_t *metric, const json_t *matrix, const char **ret_from,
                  const char **ret_to)
{
    const json_t *cell, *worst = NULL;
    size_t i;
    json_array_foreach(json_object_get(matrix, "cells"), i, cell)
    {
        const json_t *value = json_object_get(cell, "value");
        double number = json_number_value(value),
               best = json_number_value(json_object_get(worst, "value"));
        if (json_is_number(value) &&
            (worst == NULL || (is_better_higher(metric) ? number < best : number > best)))
            worst = cell;
    }
    if (worst == NULL)
        return false;
    *ret_from = ui_member(worst, "from");
    *ret_to = ui_member(worst, "to");
    return true;
}
