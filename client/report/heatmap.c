/* Table of a matrix with coloured cells, in HTML, and its worst value. */
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "picture/picture.h"
#include "ui/answer.h"
#include "ui/cells.h"

#define MOST_DRAWN 288 /* most rows or columns */
#define MOST_TABLE 16  /* more are a picture */
#define SQUARE     9   /* side of a cell in the picture */
#define NAMES      64  /* room for names of rows */

static bool is_better_higher(const json_t *metric)
{
    return strcmp(ui_member(metric, "better"), "higher") == 0;
}

/* Colours from green for the best over yellow to red, by the logarithm, because values of a matrix
 * differ by factors. Red is half as good as the best, or the worst value when that is even worse.
 */
static int hue(double value, double least, double most, bool higher)
{
    double away = higher ? log(most / value) : log(value / least);
    double share = 1 - fmin(1, away / fmax(log(most / least), log(2)));
    return (int)lround(8 + 127 * share);
}

/* Writes where a cell leads, its source, interval and repetitions, or why it is missing. */
static void put_tip(struct ui *page, const struct ui_one_cell *cell, const char *unit)
{
    char low[UI_NUMBER], high[UI_NUMBER];
    picture_text(page, cell->from);
    ui_put(page, " to ");
    picture_text(page, cell->to);
    if (cell->why_not != NULL) {
        ui_put(page, ": ");
        picture_text(page, cell->why_not);
        return;
    }
    ui_put(page, ", ");
    picture_text(page, cell->source);
    if (!isnan(cell->low) && !isnan(cell->high))
        ui_put(page,
               strcmp(cell->source, "measured") == 0 ? ", 95 %% %s to %s"
                                                     : ", stated range %s to %s",
               ui_value(page, low, cell->low, unit), ui_value(page, high, cell->high, unit));
    if (cell->repetitions > 0)
        ui_put(page, ", %ld repetitions", cell->repetitions);
}

static void put_cell(struct ui *page, const struct ui_one_cell *cell, const char *unit,
                     double least, double most, bool higher)
{
    char number[UI_NUMBER];
    ui_put(page, "<td");
    if (cell->from == NULL) {
        ui_put(page, "></td>");
        return;
    }
    if (cell->value > 0)
        ui_put(page, " style=\"background:hsl(%d,62%%,72%%);color:#111\"",
               hue(cell->value, least, most, higher));
    ui_put(page, " title=\"");
    put_tip(page, cell, unit);
    ui_put(page, "\"");
    const char *mark = strcmp(cell->source, "published") == 0 ? " p"
                       : strcmp(cell->source, "nominal") == 0 ? " n"
                                                              : "";
    ui_put(page, ">%s%s</td>",
           isnan(cell->value) ? "&ndash;" : ui_value(page, number, cell->value, unit),
           isnan(cell->value) ? "" : mark);
}

static bool find_range(const struct ui_group *group, double *ret_least, double *ret_most)
{
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < group->rows * group->columns; i++)
        if (group->cell[i].from != NULL && group->cell[i].value > 0) {
            least = fmin(least, group->cell[i].value);
            most = fmax(most, group->cell[i].value);
        }
    *ret_least = least;
    *ret_most = most;
    return most > 0;
}

/* Draws a large matrix as small squares; the tip of each has its value. */
static void put_squares(struct ui *page, const struct ui_group *group, const json_t *metric,
                        const char *unit, double least, double most)
{
    size_t width = NAMES + group->columns * SQUARE, height = 14 + group->rows * SQUARE;
    ui_put(page, "<div class=\"scroll\"><svg viewBox=\"0 0 %zu %zu\" width=\"%zu\" role=\"img\">\n",
           width, height, width);
    for (size_t r = 0; r < group->rows; r++) {
        if (r % 8 == 0) {
            ui_put(page, "<text x=\"%d\" y=\"%zu\" text-anchor=\"end\">", NAMES - 4,
                   14 + r * SQUARE + SQUARE);
            picture_text(page, group->row[r]);
            ui_put(page, "</text>\n");
        }
        for (size_t c = 0; c < group->columns; c++) {
            const struct ui_one_cell *cell = &group->cell[r * group->columns + c];
            char number[UI_NUMBER];
            if (cell->from == NULL || !(cell->value > 0))
                continue;
            ui_put(page,
                   "<rect x=\"%zu\" y=\"%zu\" width=\"%d\" height=\"%d\" "
                   "fill=\"hsl(%d,62%%,62%%)\"><title>%s: ",
                   NAMES + c * SQUARE, 14 + r * SQUARE, SQUARE - 1, SQUARE - 1,
                   hue(cell->value, least, most, is_better_higher(metric)),
                   ui_value(page, number, cell->value, unit));
            put_tip(page, cell, unit);
            ui_put(page, "</title></rect>\n");
        }
    }
    for (size_t c = 0; c < group->columns; c += 8) {
        ui_put(page, "<text x=\"%zu\" y=\"10\">", NAMES + c * SQUARE);
        picture_text(page, group->column[c]);
        ui_put(page, "</text>\n");
    }
    ui_put(page, "</svg></div>\n");
}

static void put_table(struct ui *page, const struct ui_group *group, const json_t *metric,
                      const char *unit, double least, double most)
{
    ui_put(page, "<div class=\"scroll\"><table class=\"heat\"><tr><th class=\"t\">from \\ to</th>");
    for (size_t c = 0; c < group->columns; c++) {
        ui_put(page, "<th>");
        picture_text(page, group->column[c]);
        ui_put(page, "</th>");
    }
    ui_put(page, "</tr>\n");
    for (size_t r = 0; r < group->rows; r++) {
        ui_put(page, "<tr><th class=\"t\">");
        picture_text(page, group->row[r]);
        ui_put(page, "</th>");
        for (size_t c = 0; c < group->columns; c++)
            put_cell(page, &group->cell[r * group->columns + c], unit, least, most,
                     is_better_higher(metric));
        ui_put(page, "</tr>\n");
    }
    ui_put(page, "</table></div>\n");
}

static void put_group(struct ui *page, const struct ui_group *group, const json_t *metric,
                      const char *unit, double least, double most)
{
    char low[UI_NUMBER], high[UI_NUMBER];
    ui_put(page, "<p class=\"small\">%s to %s</p>\n", ui_value(page, low, least, unit),
           ui_value(page, high, most, unit));
    if (group->rows > MOST_DRAWN || group->columns > MOST_DRAWN) {
        ui_put(page, "<p>%zu rows and %zu columns: <code>berth matrix ", group->rows,
               group->columns);
        picture_text(page, ui_member(metric, "name"));
        ui_put(page, "</code> has all of them.</p>\n");
    } else if (group->rows > MOST_TABLE || group->columns > MOST_TABLE) {
        put_squares(page, group, metric, unit, least, most);
    } else {
        put_table(page, group, metric, unit, least, most);
    }
}

bool report_matrix(struct ui *page, const json_t *metric, const json_t *matrix)
{
    struct ui_cells *cells = ui_cells_new(json_object_get(matrix, "cells"));
    const char *unit = ui_member(matrix, "unit");
    double least = 0, most = 0;
    bool is_any = cells != NULL && cells->count > 0 && find_range(&cells->group[0], &least, &most);
    page->failed = page->failed || cells == NULL;
    if (is_any) {
        ui_put(page, "<div class=\"card\"><h3>");
        picture_text(page, ui_member(metric, "name"));
        ui_put(page, " <span class=\"small\">");
        picture_text(page, cells->group[0].axes);
        ui_put(page, "</span></h3>\n<p class=\"small\">");
        picture_text(page, ui_member(metric, "about"));
        ui_put(page, "; %s is better.</p>\n", is_better_higher(metric) ? "higher" : "lower");
        put_group(page, &cells->group[0], metric, unit, least, most);
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
