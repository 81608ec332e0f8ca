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
#define LEVEL        0.01  /* times within it stand in another order than by time */
#define SETUP_SAID   0.1   /* of the time, from which on getting the memory is told */
#define NAME_BYTES   160
#define NUMBERS_MOST 64
#define CALL_BYTES   512
#define DIGITS       "0123456789"

static double time_of(const json_t *option)
{
    return ui_member_number(json_object_get(option, "predicted"), "time_ns");
}

/* Appends how much of the time passes until the memory is there, where that is much of it. */
static void put_setup(struct ui *ui, const json_t *option)
{
    double setup = ui_member_number(option, "setup_ns");
    char number[UI_NUMBER];
    if (setup > SETUP_SAID * time_of(option))
        ui_put(ui, ", %s of it to allocate", ui_time(ui, number, setup));
}

static char *prediction_text(struct ui *ui, const json_t *option)
{
    struct ui time = {.utf8 = ui->utf8, .width = ui->width};
    ui_prediction(&time, json_object_get(option, "predicted"));
    put_setup(&time, option);
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
    put_setup(&line, option);
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
    int64_t least_free, most_free; /* -1 unknown */
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

/* Writes the call with N in place of the number of its memory; cut where it does not fit. */
static void write_call(const json_t *option, char *text, size_t size)
{
    const char *memory = ui_member(option, "memory"), *call = ui_member(option, "call"),
               *number = memory + strcspn(memory, DIGITS);
    size_t used = 0;
    text[0] = '\0';
    while (*call != '\0' && used + 1 < size) {
        size_t digits = strspn(call, DIGITS), length = digits > 0 ? digits : strcspn(call, DIGITS);
        bool is_its = digits > 0 && digits == strlen(number) && strncmp(call, number, digits) == 0;
        int n = snprintf(text + used, size - used, "%.*s", is_its ? 1 : (int)length,
                         is_its ? "N" : call);
        used += n > 0 ? (size_t)n : 0;
        call += length;
    }
}

/* True for calls that differ in the number of their memory alone. */
static bool is_same_call(const json_t *a, const json_t *b)
{
    char one[CALL_BYTES], other[CALL_BYTES];
    write_call(a, one, sizeof one);
    write_call(b, other, sizeof other);
    return strcmp(one, other) == 0;
}

static bool is_same_kind(const json_t *a, const json_t *b)
{
    return strcmp(ui_member(a, "kind"), ui_member(b, "kind")) == 0;
}

static int by_number(const void *a, const void *b)
{
    int one = *(const int *)a, other = *(const int *)b;
    return (one > other) - (one < other);
}

/* Writes "numa1-3" where all names differ by a number alone, else "numa1, gpu0". */
static void name_memories(const struct row *row, char *text, size_t size)
{
    int number[NUMBERS_MOST];
    size_t stem = strcspn(row->memory[0], DIGITS), used = 0;
    bool is_one = true;
    for (size_t i = 0; i < row->memories && is_one; i++) {
        number[i] = atoi(row->memory[i] + stem);
        is_one = strncmp(row->memory[0], row->memory[i], stem) == 0 &&
                 isdigit((unsigned char)row->memory[i][stem]) != 0;
    }
    if (is_one && stem < size) {
        snprintf(text, size, "%.*s", (int)stem, row->memory[0]);
        qsort(number, row->memories, sizeof *number, by_number);
        ui_ranges(text + stem, size - stem, number, row->memories);
        return;
    }
    for (size_t i = 0; i < row->memories && used < size; i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", row->memory[i]);
}

static void add_free(struct row *row, const json_t *free_bytes)
{
    int64_t bytes = json_integer_value(free_bytes);
    if (!json_is_integer(free_bytes))
        return;
    row->least_free = row->least_free < 0 || bytes < row->least_free ? bytes : row->least_free;
    row->most_free = bytes > row->most_free ? bytes : row->most_free;
}

/* Finds the row of the options like it, which is a new one behind the others if need be. */
static size_t find_row(struct row *row, size_t count, const json_t *option,
                       bool (*is_alike)(const json_t *a, const json_t *b))
{
    size_t r = 0;
    while (r < count && !(row[r].memories < NUMBERS_MOST && is_same_kind(row[r].first, option) &&
                          is_alike(row[r].first, option)))
        r++;
    if (r == count)
        row[r] = (struct row){.first = option, .least_free = -1, .most_free = -1};
    return r;
}

/* Rows of the options; those before that index, which are shown elsewhere, are not named. */
static size_t collect(const json_t *options, size_t from, struct row *row,
                      bool (*is_alike)(const json_t *a, const json_t *b))
{
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(options) && i < OPTIONS_MOST; i++) {
        const json_t *option = json_array_get(options, i);
        size_t r = find_row(row, count, option, is_alike);
        count = r == count ? count + 1 : count;
        if (i < from)
            continue;
        row[r].memory[row[r].memories++] = ui_member(option, "memory");
        add_free(&row[r], json_object_get(option, "free_bytes"));
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

/* "10.2 to 11.9 GiB free"; nothing where it is unknown, as before a driver was asked. */
static void put_free(struct ui_table *table, const struct row *row)
{
    char low[UI_NUMBER], high[UI_NUMBER];
    ui_bytes(low, row->least_free);
    ui_bytes(high, row->most_free);
    if (row->least_free < 0)
        ui_cell(table, "%s", "");
    else if (strcmp(low, high) == 0)
        ui_cell(table, "%s free", low);
    else
        ui_cell(table, "%s to %s free", low, high);
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
    if (table->ui->why)
        put_free(table, row);
    free(time);
}

/* True where an option stands before one that is a little faster. */
static bool has_level(const json_t *options)
{
    bool result = false;
    for (size_t i = 1; i < json_array_size(options); i++) {
        const json_t *before = json_array_get(options, i - 1), *option = json_array_get(options, i);
        double ratio = time_of(option) / time_of(before);
        result = result || (ratio < 1 - SAME / 10 && ratio >= 1 - LEVEL);
    }
    return result;
}

static void put_others(struct ui *ui, const json_t *options)
{
    struct row *row = calloc(OPTIONS_MOST, sizeof *row);
    size_t count = row != NULL ? collect(options, 1, row, is_as_long) : 0, shown = 0, left = 0,
           most = ui->why ? OPTIONS_MOST : ROWS_MOST;
    struct ui_table table;
    ui->failed = ui->failed || row == NULL;
    ui_table_begin(&table, ui, ui->why ? "llll" : "lll");
    for (size_t r = 0; r < count; r++) {
        if (row[r].memories > 0 && shown < most) {
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
    if (has_level(options))
        ui_put(ui, "Of times within 1 %% the nearest memory and the plainest kind stand first.\n");
    free(row);
}

/* Writes the call that takes each memory; equal calls share a row. */
static void put_calls(struct ui *ui, const json_t *options)
{
    struct row *row = calloc(OPTIONS_MOST, sizeof *row);
    size_t count = row != NULL ? collect(options, 0, row, is_same_call) : 0;
    bool has_number = false;
    struct ui_table table;
    ui->failed = ui->failed || row == NULL;
    ui_table_begin(&table, ui, "lll");
    for (size_t r = 0; r < count; r++) {
        char name[NAME_BYTES], call[CALL_BYTES];
        name_memories(&row[r], name, sizeof name);
        write_call(row[r].first, call, sizeof call);
        has_number = has_number || row[r].memories > 1;
        ui_cell(&table, "%s", name);
        ui_cell(&table, "%s", ui_member(row[r].first, "kind"));
        ui_cell(&table, "%s", row[r].memories == 1 ? ui_member(row[r].first, "call") : call);
    }
    ui_put(ui, "\nCalls%s\n", has_number ? " (N: the memory's number)" : "");
    ui_table_end(&table, 2, false);
    free(row);
}

void ui_alloc(struct ui *ui, const json_t *reply)
{
    const json_t *options = json_object_get(reply, "options");
    put_answer(ui, json_array_get(options, 0));
    put_gain(ui, options, json_object_get(reply, "reasons"));
    put_others(ui, options);
    if (ui->why)
        put_calls(ui, options);
    ui_why(ui, reply, json_object_get(json_array_get(options, 0), "evidence"));
}
