/* Text of a reply of Allocate: the memory to take and its call, then what else there is. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/answer.h"

#define OPTIONS_MOST 256 /* more are left out of the short list */
#define ROWS_MOST    5
#define SAME         0.005 /* a smaller difference is not visible in two decimals */
#define NAME_BYTES   160
#define NUMBERS_MOST 64

static double time_of(const json_t *option)
{
    return ui_member_number(json_object_get(option, "predicted"), "time_ns");
}

static char *prediction_text(struct ui *ui, const json_t *option)
{
    struct ui time = {.utf8 = ui->utf8, .width = ui->width};
    ui_prediction(&time, json_object_get(option, "predicted"));
    ui->failed = ui->failed || time.failed;
    return time.text;
}

/* ---- the answer ---- */

static void put_answer(struct ui *ui, const json_t *option)
{
    struct ui line = {.utf8 = ui->utf8, .width = ui->width};
    const json_t *free_bytes = json_object_get(option, "free_bytes");
    char number[UI_NUMBER];
    ui_text(&line, ui_member(option, "memory"));
    ui_put(&line, ", ");
    ui_text(&line, ui_member(option, "kind"));
    ui_put(&line, " memory: ");
    ui_prediction(&line, json_object_get(option, "predicted"));
    if (json_is_integer(free_bytes))
        ui_put(&line, ", %s free", ui_bytes(number, json_integer_value(free_bytes)));
    ui_style(ui, UI_BOLD);
    ui_paragraph(ui, 2, line.text == NULL ? "" : line.text);
    ui_style(ui, UI_PLAIN);
    ui->failed = ui->failed || line.failed;
    ui_done(&line);
    ui_call(ui, ui_member(option, "call"));
}

/* Compares with the best option of another memory: the number that decided. Without one the first
 * reason stands. */
static void put_gain(struct ui *ui, const json_t *options, const json_t *reasons)
{
    const json_t *first = json_array_get(options, 0), *option;
    if (isnan(time_of(first)) && json_array_size(reasons) > 0)
        ui_paragraph(ui, 2, ui_reason_text(json_array_get(reasons, 0)));
    size_t i;
    json_array_foreach(options, i, option)
    {
        double ratio = time_of(option) / time_of(first);
        bool is_least = isnan(ui_member_number(json_object_get(option, "predicted"), "high_ns"));
        if (strcmp(ui_member(option, "memory"), ui_member(first, "memory")) == 0 ||
            !(ratio > 1 + SAME) || is_least)
            continue;
        ui_put(ui, "%.*f %s faster than ", ratio < 10 ? 2 : 0, ratio, ui->utf8 ? "\u00d7" : "x");
        ui_text(ui, ui_member(option, "kind"));
        ui_put(ui, " memory on ");
        ui_text(ui, ui_member(option, "memory"));
        ui_put(ui, ", the best elsewhere\n");
        return;
    }
}

/* ---- the others, equal ones in one row ---- */

struct row {
    const json_t *first;
    const char *memory[NUMBERS_MOST];
    size_t memories;
};

/* True where the times, as shown without their intervals, are the same. */
static bool is_as_long(const json_t *a, const json_t *b)
{
    double one = time_of(a), other = time_of(b);
    const json_t *its = json_object_get(a, "predicted"), *theirs = json_object_get(b, "predicted");
    return (isnan(one) && isnan(other)) ||
           (fabs(one / other - 1) < SAME &&
            strcmp(ui_member(its, "source"), ui_member(theirs, "source")) == 0 &&
            isnan(ui_member_number(its, "high_ns")) == isnan(ui_member_number(theirs, "high_ns")));
}

static bool is_in(const struct row *row, const json_t *option)
{
    return is_as_long(row->first, option) && row->memories < NUMBERS_MOST &&
           strcmp(ui_member(row->first, "kind"), ui_member(option, "kind")) == 0;
}

/* Writes "numa1-3" where all names differ by a number alone, else "numa1, gpu0". */
static void name_memories(const struct row *row, char *text, size_t size)
{
    int number[NUMBERS_MOST];
    size_t stem = strcspn(row->memory[0], "0123456789"), used = 0;
    bool is_one = true;
    for (size_t i = 0; i < row->memories && is_one; i++) {
        number[i] = atoi(row->memory[i] + stem);
        is_one = strncmp(row->memory[0], row->memory[i], stem) == 0 &&
                 isdigit((unsigned char)row->memory[i][stem]) != 0 &&
                 (i == 0 || number[i] > number[i - 1]);
    }
    if (is_one && stem < size) {
        snprintf(text, size, "%.*s", (int)stem, row->memory[0]);
        ui_ranges(text + stem, size - stem, number, row->memories);
        return;
    }
    for (size_t i = 0; i < row->memories && used < size; i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", row->memory[i]);
}

static size_t collect(const json_t *options, struct row *row)
{
    size_t count = 0, i;
    const json_t *option;
    json_array_foreach(options, i, option)
    {
        size_t r = 0;
        if (i == OPTIONS_MOST)
            break;
        while (r < count && !is_in(&row[r], option))
            r++;
        if (r == count)
            row[count++] = (struct row){.first = option};
        if (i > 0) /* the first is the answer */
            row[r].memory[row[r].memories++] = ui_member(option, "memory");
    }
    return count;
}

/* Appends the kind of another row that has the same memories for the same time. */
static void add_kind(char *kinds, size_t size, const struct row *row)
{
    size_t used = strlen(kinds);
    snprintf(kinds + used, size - used, "%s%s", used > 0 ? ", " : "",
             ui_member(row->first, "kind"));
}

/* Rows of the same memories and time become one, behind the first. */
static void put_row(struct ui_table *table, struct row *row, size_t count, const json_t *answer)
{
    char name[NAME_BYTES], other[NAME_BYTES], kinds[NAME_BYTES] = "",
                                              *time = prediction_text(table->ui, row->first);
    name_memories(row, name, sizeof name);
    add_kind(kinds, sizeof kinds, row);
    for (size_t i = 1; i < count; i++) {
        if (row[i].memories == 0 || !is_as_long(row->first, row[i].first))
            continue;
        name_memories(&row[i], other, sizeof other);
        if (strcmp(name, other) != 0)
            continue;
        add_kind(kinds, sizeof kinds, &row[i]);
        row[i].memories = 0;
    }
    ui_cell(table, "%s", name);
    ui_cell(table, "%s", kinds);
    ui_cell(table, "%s",
            is_as_long(answer, row->first) && !isnan(time_of(answer)) ? "as long"
            : time == NULL                                            ? ""
                                                                      : time);
    free(time);
}

static void put_others(struct ui *ui, const json_t *options)
{
    struct row *row = calloc(OPTIONS_MOST, sizeof *row);
    size_t count = row != NULL ? collect(options, row) : 0, shown = 0, left = 0;
    struct ui_table table;
    ui->failed = ui->failed || row == NULL;
    ui_table_begin(&table, ui, "lll");
    for (size_t r = 0; r < count; r++) {
        if (row[r].memories > 0 && shown < ROWS_MOST) {
            put_row(&table, &row[r], count - r, json_array_get(options, 0));
            shown++;
        } else {
            left += row[r].memories;
        }
    }
    if (shown > 0)
        ui_put(ui, "\nOthers\n");
    ui_table_end(&table, 2, false);
    if (left > 0)
        ui_put(ui, "  and %zu more\n", left);
    free(row);
}

/* ---- all of it ---- */

static void put_option(struct ui_table *table, const json_t *option)
{
    struct ui *ui = table->ui;
    const json_t *free_bytes = json_object_get(option, "free_bytes");
    char number[UI_NUMBER], *time = prediction_text(ui, option);
    ui_cell(table, "%s", ui_member(option, "memory"));
    ui_cell(table, "%s", ui_member(option, "kind"));
    ui_cell(table, "%s", time == NULL ? "" : time);
    ui_cell(table, "%s",
            json_is_integer(free_bytes) ? ui_bytes(number, json_integer_value(free_bytes))
                                        : "unknown");
    ui_cell(table, "%s", ui_member(option, "call"));
    free(time);
}

static void put_all(struct ui *ui, const json_t *options)
{
    static const char *const header[] = {"memory", "kind", "predicted", "free", "call"};
    const json_t *option;
    struct ui_table table;
    size_t i;
    ui_put(ui, "\n");
    ui_table_begin(&table, ui, "lllrl");
    for (i = 0; i < sizeof header / sizeof header[0]; i++)
        ui_cell(&table, "%s", header[i]);
    json_array_foreach(options, i, option) { put_option(&table, option); }
    ui_table_end(&table, 0, true);
}

void ui_alloc(struct ui *ui, const json_t *reply)
{
    const json_t *options = json_object_get(reply, "options");
    put_answer(ui, json_array_get(options, 0));
    put_gain(ui, options, json_object_get(reply, "reasons"));
    if (ui->why)
        put_all(ui, options);
    else
        put_others(ui, options);
    ui_why(ui, reply, json_object_get(json_array_get(options, 0), "evidence"));
    ui_basis(ui, ui_member(json_object_get(reply, "basis"), "origin"));
}
