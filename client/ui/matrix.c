#include "ui/matrix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/answer.h"
#include "ui/cells.h"
#include "ui/ends.h"
#include "ui/sizes.h"

#define GROUPS_MOST  6
#define LIST_MOST    30 /* most cells in a list, and combinations of axes in a summary */
#define SIZES_MOST   12 /* most matrices of one size */
#define REASONS_MOST 20
#define CELL_BYTES   48
#define AXES_BYTES   512

/* Fields common to all tables of one reply. */
struct view {
    struct ui *ui;
    const struct ui_matrix_options *options;
    double scale;
    const char *unit;
    const char *reason[REASONS_MOST]; /* reasons of missing values, lettered a, b, c, ... */
    bool is_also[REASONS_MOST];       /* it holds of other places, too, than those that it names */
    size_t reasons;
    const char *all_from; /* source of every value, when it is one and not "measured"; else NULL */
    bool has_nominal, has_published;
};

static void choose_unit(struct view *view, const struct ui_cells *cells, const char *unit)
{
    double most = 0;
    for (size_t g = 0; g < cells->count; g++)
        for (size_t i = 0; i < cells->group[g].rows * cells->group[g].columns; i++)
            if (cells->group[g].cell[i].from != NULL && cells->group[g].cell[i].value > most)
                most = cells->group[g].cell[i].value;
    view->scale = 1;
    view->unit = unit;
    if (strcmp(unit, "bytes_per_s") == 0) {
        view->scale = most >= 1e8 ? 1e9 : most >= 1e5 ? 1e6 : 1;
        view->unit = most >= 1e8 || most == 0 ? "GB/s" : most >= 1e5 ? "MB/s" : "B/s";
    } else if (strcmp(unit, "ns") == 0 && most >= 1e5) {
        view->scale = 1e3;
        view->unit = view->ui->utf8 ? "\u00b5s" : "us";
    }
}

static const char *common_source(const struct ui_cells *cells)
{
    const char *common = NULL;
    for (size_t g = 0; g < cells->count; g++) {
        for (size_t i = 0; i < cells->group[g].rows * cells->group[g].columns; i++) {
            const struct ui_one_cell *cell = &cells->group[g].cell[i];
            if (cell->from == NULL || cell->why_not != NULL)
                continue;
            if (strcmp(cell->source, "measured") == 0 ||
                (common != NULL && strcmp(cell->source, common) != 0))
                return NULL;
            common = cell->source;
        }
    }
    return common;
}

/* True for words with a number, as names of places and PCI addresses have one. */
static bool has_digit(const char *word, size_t length)
{
    return strcspn(word, "0123456789") < length;
}

/* True for reasons that differ in words with a number alone. */
static bool is_same_reason(const char *a, const char *b)
{
    while (*a != '\0' || *b != '\0') {
        size_t one = strcspn(a, " "), other = strcspn(b, " ");
        bool is_equal = one == other && memcmp(a, b, one) == 0;
        if (!is_equal && !(has_digit(a, one) && has_digit(b, other)))
            return false;
        a += one;
        b += other;
        if (*a != *b)
            return false;
        a += *a == ' ';
        b += *b == ' ';
    }
    return true;
}

/* Letter of a reason; a new reason gets the next letter. z stands for all reasons beyond the
 * letters. */
static char letter(struct view *view, const char *reason)
{
    for (size_t i = 0; i < view->reasons; i++)
        if (is_same_reason(view->reason[i], reason)) {
            view->is_also[i] = view->is_also[i] || strcmp(view->reason[i], reason) != 0;
            return (char)('a' + i);
        }
    if (view->reasons == REASONS_MOST)
        return 'z';
    view->reason[view->reasons] = reason;
    return (char)('a' + view->reasons++);
}

static void cell_text(struct view *view, const struct ui_one_cell *cell, char *text)
{
    char one[UI_NUMBER], two[UI_NUMBER];
    if (cell->from == NULL) {
        strcpy(text, "");
        return;
    }
    if (cell->why_not != NULL) {
        snprintf(text, CELL_BYTES, "-%c", letter(view, cell->why_not));
        return;
    }
    const char *mark = "";
    if (view->all_from != NULL)
        mark = "";
    else if (strcmp(cell->source, "nominal") == 0) {
        view->has_nominal = true;
        mark = "n";
    } else if (strcmp(cell->source, "published") == 0) {
        view->has_published = true;
        mark = "p";
    }
    if (view->options->intervals && !isnan(cell->low))
        snprintf(text, CELL_BYTES, "%s..%s%s", ui_digits(one, cell->low / view->scale),
                 ui_digits(two, cell->high / view->scale), mark);
    else
        snprintf(text, CELL_BYTES, "%s%s", ui_digits(one, cell->value / view->scale), mark);
}

/* Shade: 0 best .. UI_SHADES - 1 worst, -1 none. A spread below a twentieth gets no colour. */
static int shade(const struct view *view, double value, double least, double most)
{
    if (view->options->better == 0 || isnan(value) || most - least <= 0.05 * fabs(most))
        return -1;
    double worse = (value - least) / (most - least);
    if (view->options->better > 0)
        worse = 1 - worse;
    return (int)fmin(UI_SHADES - 1, worse * UI_SHADES);
}

static void bounds(const struct ui_group *group, double *ret_least, double *ret_most)
{
    *ret_least = *ret_most = NAN;
    for (size_t i = 0; i < group->rows * group->columns; i++) {
        if (group->cell[i].from != NULL) {
            *ret_least = fmin(*ret_least, group->cell[i].value);
            *ret_most = fmax(*ret_most, group->cell[i].value);
        }
    }
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* "95 % interval: half width 0.6 % in the median, 2.1 % at most; 9 to 25 repetitions" */
static void put_precision(struct ui *ui, const struct ui_group *group)
{
    size_t cells = group->rows * group->columns, count = 0;
    double *half = calloc(cells + 1, sizeof *half);
    long least = 0, most = 0;
    for (size_t i = 0; half != NULL && i < cells; i++) {
        const struct ui_one_cell *cell = &group->cell[i];
        if (cell->from == NULL || strcmp(cell->source, "measured") != 0 || !(cell->value > 0) ||
            isnan(cell->low) || isnan(cell->high))
            continue;
        half[count++] = 100 * (cell->high - cell->low) / 2 / cell->value;
        if (cell->repetitions > 0) {
            least = least == 0 || cell->repetitions < least ? cell->repetitions : least;
            most = cell->repetitions > most ? cell->repetitions : most;
        }
    }
    if (half == NULL)
        ui->failed = true;
    if (count > 0) {
        char median[UI_NUMBER], widest[UI_NUMBER];
        qsort(half, count, sizeof *half, compare_doubles);
        char times[64] = "";
        if (most > 0 && most == least)
            snprintf(times, sizeof times, "; %ld repetitions", most);
        else if (most > 0)
            snprintf(times, sizeof times, "; %ld to %ld repetitions", least, most);
        ui_digits(median, half[count / 2]);
        ui_digits(widest, half[count - 1]);
        ui_pad(ui, 2);
        if (strcmp(median, widest) == 0)
            ui_line(ui, 2, "95 %% interval: half width %s %%%s", widest, times);
        else
            ui_line(ui, 2, "95 %% interval: half width %s %% in the median, %s %% at most%s",
                    median, widest, times);
    }
    free(half);
}

/* Shortens headers to numbers when the names are many and of one kind. */
static const char *short_name(const struct ui_group *group, size_t column)
{
    const char *name = group->column[column];
    size_t kind = strcspn(name, "0123456789");
    if (group->corner != NULL || group->columns <= 8 || kind == 0 || name[kind] == '\0' ||
        strncmp(group->column[0], group->column[group->columns - 1], kind) != 0)
        return name;
    return name + kind;
}

static void put_block(struct view *view, const struct ui_group *group, size_t first, size_t last,
                      int label, int width)
{
    struct ui *ui = view->ui;
    double least, most;
    char place[UI_NUMBER];
    bounds(group, &least, &most);
    ui_style(ui, UI_DIM);
    ui_put(ui, "  ");
    const char *corner = group->corner != NULL ? group->corner
                         : group->columns > 8  ? "from, to"
                                               : "from";
    ui_text(ui, corner);
    ui_pad(ui, label - ui_columns(corner));
    for (size_t c = first; c < last; c++) {
        const char *name = short_name(group, c);
        ui_pad(ui, width - ui_columns(name));
        ui_text(ui, name);
    }
    ui_style(ui, UI_PLAIN);
    ui_put(ui, "\n");
    for (size_t r = 0; r < group->rows; r++) {
        ui_put(ui, "  ");
        ui_text(ui, ui_place(group->row[r], place));
        ui_pad(ui, label - ui_columns(ui_place(group->row[r], place)));
        for (size_t c = first; c < last; c++) {
            const struct ui_one_cell *cell = &group->cell[r * group->columns + c];
            char text[CELL_BYTES];
            cell_text(view, cell, text);
            int colour = cell->from == NULL ? -1 : shade(view, cell->value, least, most);
            ui_put(ui, " ");
            ui_background(ui, colour);
            ui_pad(ui, width - 1 - ui_columns(text));
            ui_put(ui, "%s", text);
            if (colour >= 0)
                ui_style(ui, UI_PLAIN);
        }
        ui_put(ui, "\n");
    }
}

static void put_group(struct view *view, const struct ui_group *group)
{
    int label = 8, width = 5;
    char place[UI_NUMBER];
    for (size_t r = 0; r < group->rows; r++)
        if (ui_columns(ui_place(group->row[r], place)) > label)
            label = ui_columns(ui_place(group->row[r], place));
    for (size_t c = 0; c < group->columns; c++)
        width = ui_columns(short_name(group, c)) + 2 > width ? ui_columns(short_name(group, c)) + 2
                                                             : width;
    for (size_t i = 0; i < group->rows * group->columns; i++) {
        char text[CELL_BYTES];
        cell_text(view, &group->cell[i], text);
        width = ui_columns(text) + 2 > width ? ui_columns(text) + 2 : width;
    }
    char axes[AXES_BYTES];
    ui_axes_text(NULL, group, axes, sizeof axes);
    ui_put(view->ui, "\n");
    if (*axes != '\0') {
        ui_pad(view->ui, 2);
        ui_style(view->ui, UI_BOLD);
        ui_paragraph(view->ui, 2, axes);
        ui_style(view->ui, UI_PLAIN);
    }
    int room = (view->ui->width - 2 - label) / width;
    size_t step = room < 1 ? 1 : (size_t)room;
    for (size_t first = 0; first < group->columns; first += step) {
        if (first > 0)
            ui_put(view->ui, "\n");
        put_block(view, group, first, first + step < group->columns ? first + step : group->columns,
                  label, width);
    }
    put_precision(view->ui, group);
}

/* A range in a paper or a vendor's page is two stated figures, no confidence interval. */
static const char *name_interval(const struct ui_cells *cells)
{
    const char *name = "";
    for (size_t g = 0; g < cells->count; g++)
        for (size_t i = 0; i < cells->group[g].rows * cells->group[g].columns; i++) {
            const struct ui_one_cell *cell = &cells->group[g].cell[i];
            if (cell->from == NULL || cell->why_not != NULL || isnan(cell->low))
                continue;
            if (strcmp(cell->source, "measured") != 0)
                return "95 % interval, or stated range";
            name = "95 % interval";
        }
    return name;
}

static void put_list(struct view *view, const struct ui_cells *cells)
{
    struct ui_table table;
    ui_put(view->ui, "\n");
    ui_table_begin(&table, view->ui, "lllrrrl");
    const char *const header[] = {"axes", "from", "to", "value", name_interval(cells), "n", ""};
    for (size_t i = 0; i < sizeof header / sizeof header[0]; i++)
        ui_cell(&table, "%s", header[i]);
    for (size_t g = 0; g < cells->count; g++) {
        const struct ui_group *group = &cells->group[g];
        char axes[AXES_BYTES];
        ui_axes_text(cells, group, axes, sizeof axes);
        for (size_t i = 0; i < group->rows * group->columns; i++) {
            const struct ui_one_cell *cell = &group->cell[i];
            char value[UI_NUMBER], low[UI_NUMBER], high[UI_NUMBER];
            if (cell->from == NULL)
                continue;
            ui_cell(&table, "%s", *axes == '\0' ? "defaults" : axes);
            ui_cell(&table, "%s", ui_place(cell->from, value));
            ui_cell(&table, "%s", ui_place(cell->to, value));
            ui_cell(&table, "%s", ui_digits(value, cell->value / view->scale));
            ui_cell(&table, "%s%s%s",
                    isnan(cell->low) ? "" : ui_digits(low, cell->low / view->scale),
                    isnan(cell->low) ? "" : "..",
                    isnan(cell->low) ? "" : ui_digits(high, cell->high / view->scale));
            ui_cell(&table, "%.0ld", cell->repetitions); /* an unknown count, 0, prints nothing */
            ui_cell(&table, "%s",
                    cell->why_not != NULL                   ? cell->why_not
                    : strcmp(cell->source, "measured") == 0 ? ""
                                                            : cell->source);
        }
    }
    ui_table_end(&table, 2, true);
}

static void put_notes(struct view *view)
{
    struct ui *ui = view->ui;
    if (view->has_nominal || view->has_published)
        ui_put(ui, "  %s%s%s\n", view->has_nominal ? "n: nominal, not measured" : "",
               view->has_nominal && view->has_published ? "; " : "",
               view->has_published ? "p: published, not measured here" : "");
    for (size_t i = 0; i < view->reasons; i++) {
        ui_put(ui, "  -%c: ", (char)('a' + i));
        ui_line(ui, 6, "%s%s", view->is_also[i] ? "such as: " : "", view->reason[i]);
    }
}

static void put_groups(struct view *view, const struct ui_cells *cells)
{
    for (size_t g = 0; g < cells->count; g++)
        put_group(view, &cells->group[g]);
    put_notes(view);
}

/* Prints a row for each combination of axes, with its least and its most. */
static void put_summary(struct view *view, const struct ui_cells *cells)
{
    struct ui_table table;
    size_t shown = cells->count <= LIST_MOST ? cells->count : LIST_MOST;
    ui_put(view->ui, "\n");
    ui_table_begin(&table, view->ui, "rrrl");
    const char *const header[] = {"cells", "least", "most", "axes"};
    for (size_t i = 0; i < sizeof header / sizeof header[0]; i++)
        ui_cell(&table, "%s", header[i]);
    for (size_t g = 0; g < shown; g++) {
        char low[UI_NUMBER], high[UI_NUMBER], axes[AXES_BYTES];
        double least, most;
        bounds(&cells->group[g], &least, &most);
        ui_axes_text(cells, &cells->group[g], axes, sizeof axes);
        ui_cell(&table, "%zu", cells->group[g].cells);
        ui_cell(&table, "%s", ui_digits(low, least / view->scale));
        ui_cell(&table, "%s", ui_digits(high, most / view->scale));
        ui_cell(&table, "%s", axes);
    }
    ui_table_end(&table, 2, true);
    ui_put(view->ui, "\n  ");
    if (shown < cells->count)
        ui_put(view->ui, "%zu more combinations of axes; ", cells->count - shown);
    ui_line(view->ui, 2, "--where AXIS=VALUE picks tables, --all prints every one");
}

static void put_chosen(struct view *view, const struct ui_cells *cells)
{
    for (size_t g = 0; g < cells->count; g++)
        if (ui_chosen(&cells->group[g], &view->options->choice))
            put_group(view, &cells->group[g]);
    put_notes(view);
    ui_chosen_rest(view->ui, cells, &view->options->choice);
}

/* The combination of axes that is meant: the only one, else that of the options and the defaults;
 * NULL where no one is. */
static const struct ui_group *find_meant(const struct ui_cells *cells,
                                         const struct ui_choice *choice)
{
    for (size_t g = 0; g < cells->count; g++)
        if (cells->count == 1 || ui_chosen(&cells->group[g], choice))
            return &cells->group[g];
    return NULL;
}

/* Prints another axis down the rows: at the defaults, else every table, or a summary. */
static void put_turned(struct view *view, const struct ui_cells *cells)
{
    const struct ui_matrix_options *options = view->options;
    struct ui_cells *turned = ui_pivot(cells);
    bool is_all = options->all || options->all_sizes;
    if (turned == NULL)
        view->ui->failed = true;
    else if (!is_all && turned->count > 1 && find_meant(turned, &options->choice) != NULL)
        put_chosen(view, turned);
    else if (!is_all && turned->count > GROUPS_MOST)
        put_summary(view, turned);
    else
        put_groups(view, turned);
    ui_cells_free(turned);
}

/* ---- the answer ---- */

/* Prints the best and the worst of the cells that are meant; false where there are none. */
static bool put_ends(const struct view *view, struct ui *ui, const struct ui_group *group,
                     const char *unit)
{
    size_t cells = group == NULL ? 0 : group->rows * group->columns, count = 0;
    struct ui_end *value = calloc(cells + 1, sizeof *value);
    ui->failed = ui->failed || value == NULL;
    for (size_t i = 0; value != NULL && i < cells; i++) {
        const struct ui_one_cell *cell = &group->cell[i];
        if (cell->from != NULL && !isnan(cell->value))
            value[count++] = (struct ui_end){
                cell->from, cell->to, view->all_from == NULL ? cell->source : NULL, cell->value};
    }
    if (count > 0)
        ui_ends_put(ui, value, count, unit, view->options->better);
    free(value);
    return count > 0;
}

/* Returns the number of values, and their least and most. */
static size_t count_values(const struct ui_cells *cells, double *ret_least, double *ret_most)
{
    size_t count = 0;
    *ret_least = *ret_most = NAN;
    for (size_t g = 0; g < cells->count; g++) {
        double least, most;
        bounds(&cells->group[g], &least, &most);
        *ret_least = fmin(*ret_least, least);
        *ret_most = fmax(*ret_most, most);
        for (size_t i = 0; i < cells->group[g].rows * cells->group[g].columns; i++)
            count += cells->group[g].cell[i].from != NULL && !isnan(cells->group[g].cell[i].value);
    }
    return count;
}

/* The first line: the metric, and the numbers that are asked for. is_drawn: nothing but the
 * combination that is meant comes below. */
static void put_answer(struct view *view, const json_t *reply, const struct ui_cells *cells,
                       bool is_drawn)
{
    struct ui *ui = view->ui;
    const char *folded = ui_member(reply, "answer"), *unit = ui_member(reply, "unit");
    const struct ui_group *meant = find_meant(cells, &view->options->choice);
    struct ui line = {.utf8 = ui->utf8, .width = ui->width}, ends = {.utf8 = ui->utf8};
    double least, most;
    size_t values = count_values(cells, &least, &most);
    ui_text(&line, ui_member(reply, "metric"));
    ui_put(&line, ": ");
    if (*folded != '\0')
        ui_text(&line, folded);
    else if (values == 0)
        ui_put(&line, "no value is known%s", cells->count == 0 ? "" : "; below stands why");
    else if (put_ends(view, &ends, meant, unit))
        ui_put(&line, "%s%s", is_drawn ? "" : "at its default axes ", ends.text);
    else {
        ui_put(&line, "%zu value%s", values, values == 1 ? ", " : "s from ");
        ui_ends_range(&line, least, most, unit);
    }
    ui_style(ui, UI_BOLD);
    ui_paragraph(ui, 2, line.text == NULL ? "" : line.text);
    ui_style(ui, UI_PLAIN);
    ui->failed = ui->failed || line.failed || ends.failed;
    ui_done(&line);
    ui_done(&ends);
}

/* True where any cell of the reply has a value. */
static bool has_value(const json_t *cells)
{
    const json_t *cell;
    size_t i;
    json_array_foreach(cells, i,
                       cell) if (json_is_number(json_object_get(cell, "value"))) return true;
    return false;
}

/* Cells of the reply. With many sizes and none named, only those of the metric's own size, which
 * ret_own then holds; all where only other sizes have values. NULL when out of memory. */
static struct ui_cells *take_cells(const json_t *reply, const struct ui_matrix_options *options,
                                   json_t **ret_own, struct ui_sizes *ret_others)
{
    const json_t *all = json_object_get(reply, "cells");
    const char *size = json_string_value(json_object_get(options->choice.defaults, "bytes"));
    if (options->all_sizes || size == NULL ||
        json_object_get(options->choice.where, "bytes") != NULL)
        return ui_cells_new(all);
    struct ui_sizes others;
    json_t *own = ui_sizes_own(all, size, &others);
    struct ui_cells *cells = own != NULL ? ui_cells_new(own) : NULL;
    bool is_better = cells != NULL && others.count > 0 && cells->count > 0 &&
                     (has_value(own) || !has_value(all));
    if (own == NULL || cells == NULL || is_better) {
        *ret_own = own;
        if (cells != NULL)
            *ret_others = others;
        return cells;
    }
    ui_cells_free(cells);
    json_decref(own);
    return ui_cells_new(all);
}

void ui_matrix(struct ui *ui, const json_t *reply, const struct ui_matrix_options *options)
{
    const char *unit = json_string_value(json_object_get(reply, "unit"));
    const char *origin =
        json_string_value(json_object_get(json_object_get(reply, "basis"), "origin"));
    struct ui_sizes others = {.count = 0};
    json_t *own = NULL; /* owned; the cells borrow texts from own */
    struct ui_cells *cells = take_cells(reply, options, &own, &others);
    if (cells == NULL) {
        json_decref(own);
        ui->failed = true;
        return;
    }
    struct view view = {.ui = ui, .options = options};
    bool is_one_size = own != NULL || json_object_get(options->choice.where, "bytes") != NULL;
    choose_unit(&view, cells, unit == NULL ? "" : unit);
    view.all_from = common_source(cells);
    bool is_elsewhere = origin != NULL && strcmp(origin, "live") != 0;
    bool is_chosen = !options->all && !options->all_sizes && cells->count > 1 &&
                     ui_chosen_helps(cells, &options->choice);
    bool is_list = cells->count > 3 && cells->cells < 4 * cells->count && cells->cells <= LIST_MOST;
    put_answer(&view, reply, cells, is_chosen || cells->count == 1);
    ui_line(ui, 2, "%s%s%s%s%s%s%s%s", view.unit,
            options->better > 0   ? ", higher is better"
            : options->better < 0 ? ", lower is better"
                                  : "",
            view.all_from != NULL ? ", " : "", view.all_from != NULL ? view.all_from : "",
            view.all_from != NULL ? ", not measured" : "", is_elsewhere ? " (" : "",
            is_elsewhere ? origin : "", is_elsewhere ? ")" : "");
    if (cells->count == 0)
        ui_line(ui, 2, "%s%s",
                options->picked ? "without --where, --size, --from and --to the table shows what "
                                  "is known; "
                                : "",
                options->why_none != NULL ? options->why_none
                : options->picked         ? "berth probe measures, with --full the most"
                                          : "berth probe measures");
    else if (is_chosen)
        put_chosen(&view, cells);
    else if (is_one_size && cells->count <= SIZES_MOST && ui_sizes_matrix(cells))
        put_groups(&view, cells);
    else if (cells->count > GROUPS_MOST && ui_pivot_helps(cells) &&
             (options->all_sizes || is_one_size || !is_list))
        put_turned(&view, cells);
    else if (is_list)
        put_list(&view, cells);
    else if (cells->count > GROUPS_MOST && !options->all && !options->all_sizes)
        put_summary(&view, cells);
    else
        put_groups(&view, cells);
    ui_sizes_rest(ui, &others);
    ui_cells_free(cells);
    json_decref(own);
}

/* Counts the metrics with values, and says what shows them. */
static void put_known(struct ui *ui, const json_t *metrics, bool all)
{
    const json_t *metric;
    size_t known = 0, i;
    json_array_foreach(metrics, i, metric) known +=
        json_integer_value(json_object_get(metric, "cells")) > 0;
    ui_style(ui, UI_BOLD);
    ui_line(ui, 2, "%zu of %zu metrics have values; berth matrix METRIC prints one%s", known,
            json_array_size(metrics), all || known == i ? "" : ", --all lists all");
    ui_style(ui, UI_PLAIN);
}

/* A metric's row; a metric without values only with all. */
static void put_metric(struct ui_table *table, const json_t *metric, bool all)
{
    int64_t cells = json_integer_value(json_object_get(metric, "cells"));
    if (cells == 0 && !all)
        return;
    ui_cell(table, "%s", ui_member(metric, "name"));
    if (all) {
        ui_cell(table, "%s", ui_member(metric, "unit"));
        ui_cell(table, "%s", ui_member(metric, "better"));
    }
    ui_cell(table, "%lld", (long long)cells);
    ui_cell(table, "%lld", (long long)json_integer_value(json_object_get(metric, "measured")));
    const char *about = ui_member(metric, "about"); /* its first clause fits the list */
    ui_cell(table, "%.*s", (int)(all ? strlen(about) : strcspn(about, ":;,")), about);
}

void ui_metrics(struct ui *ui, const json_t *reply, bool all)
{
    const char *const header[] = {"metric", "unit", "better", "cells", "measured", "about"};
    const json_t *metric;
    struct ui_table table;
    size_t i;
    put_known(ui, json_object_get(reply, "metrics"), all);
    ui_table_begin(&table, ui, all ? "lllrrl" : "lrrl");
    for (i = 0; i < sizeof header / sizeof header[0]; i++)
        if (all || i == 0 || i > 2)
            ui_cell(&table, "%s", header[i]);
    for (int of_gpus = 1; of_gpus >= 0; of_gpus--)
        json_array_foreach(json_object_get(reply, "metrics"), i, metric)
        {
            if ((strncmp(ui_member(metric, "name"), "gpu_gpu_", 8) == 0) == (of_gpus == 1))
                put_metric(&table, metric, all);
        }
    ui_table_end(&table, 0, true);
}
