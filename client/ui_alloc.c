#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui_answer.h"

static void put_option(struct ui_table *table, const json_t *option)
{
    struct ui *ui = table->ui;
    const json_t *free_bytes = json_object_get(option, "free_bytes");
    char number[UI_NUMBER];
    struct ui time = {.utf8 = ui->utf8, .width = ui->width};
    ui_prediction(&time, json_object_get(option, "predicted"));
    ui_cell(table, "%s", ui_member(option, "memory"));
    ui_cell(table, "%s", ui_member(option, "kind"));
    ui_cell(table, "%s", time.text == NULL ? "" : time.text);
    ui_cell(table, "%s", json_is_integer(free_bytes) ? ui_bytes(number, json_integer_value(free_bytes)) : "unknown");
    ui_cell(table, "%s", ui_member(option, "call"));
    ui->failed = ui->failed || time.failed;
    ui_done(&time);
}

static double time_of(const json_t *option) { return json_number_value(json_object_get(json_object_get(option, "predicted"), "time_ns")); }

/* The best option of another memory, else of another kind; NULL when none is predicted. */
static const json_t *runner_up(const json_t *options)
{
    const json_t *first = json_array_get(options, 0), *option, *of_kind = NULL;
    size_t i;
    json_array_foreach(options, i, option)
    {
        if (i == 0 || !(time_of(option) > 0))
            continue;
        if (strcmp(ui_member(first, "memory"), ui_member(option, "memory")) != 0 && time_of(option) > time_of(first))
            return option;
        of_kind = of_kind == NULL ? option : of_kind;
    }
    return of_kind;
}

static bool alike(const json_t *a, const json_t *b)
{
    return strcmp(ui_member(a, "unit"), ui_member(b, "unit")) == 0 &&
           strcmp(ui_member(json_object_get(a, "axes"), "how"), ui_member(json_object_get(b, "axes"), "how")) == 0;
}

/* What one of the two rests on and the other does not, of the same sort, where they are furthest apart. */
static bool find_deciding(const json_t *first, const json_t *second, const json_t **ret_a, const json_t **ret_b)
{
    const json_t *a, *b, *ours = json_object_get(first, "why"), *theirs = json_object_get(second, "why");
    double furthest = 0;
    size_t i, j;
    json_array_foreach(ours, i, a)
    {
        json_array_foreach(theirs, j, b)
        {
            double x = json_number_value(json_object_get(a, "value")), y = json_number_value(json_object_get(b, "value"));
            double apart = alike(a, b) && x > 0 && y > 0 ? fabs(log(x / y)) : 0;
            if (apart > furthest) {
                furthest = apart;
                *ret_a = a;
                *ret_b = b;
            }
        }
    }
    return furthest > 0;
}

static void put_value(struct ui *ui, const json_t *evidence)
{
    char number[UI_NUMBER];
    const char *from = ui_member(evidence, "from"), *to = ui_member(evidence, "to");
    ui_put(ui, "%s (", ui_value(ui, number, json_number_value(json_object_get(evidence, "value")), ui_member(evidence, "unit")));
    ui_text(ui, ui_member(evidence, "metric"));
    ui_put(ui, " ");
    ui_text(ui, from);
    if (strcmp(from, to) != 0) {
        ui_put(ui, " to ");
        ui_text(ui, to);
    }
    ui_put(ui, ")");
}

static void put_name(struct ui *ui, const json_t *option)
{
    ui_text(ui, ui_member(option, "kind"));
    ui_put(ui, " memory on ");
    ui_text(ui, ui_member(option, "memory"));
}

/* "system memory on numa4 takes 5.80 ms, pinned memory on numa0 63.2 ms, 10.9 times as long: 3.70 TB/s (...) there against 342 GB/s (...)." */
static void put_reason(struct ui *ui, const json_t *options)
{
    const json_t *first = json_array_get(options, 0), *second = runner_up(options), *a = NULL, *b = NULL;
    char number[UI_NUMBER];
    if (second == NULL || !(time_of(first) > 0))
        return;
    struct ui line = {.utf8 = ui->utf8, .width = ui->width};
    double times = time_of(second) / time_of(first);
    put_name(&line, first);
    ui_put(&line, " takes %s, ", ui_time(&line, number, time_of(first)));
    put_name(&line, second);
    ui_put(&line, " %s, ", ui_time(&line, number, time_of(second)));
    if (times > 0.995 && times < 1.005)
        ui_put(&line, "just as long");
    else
        ui_put(&line, "%.3g times as long", times);
    if (find_deciding(first, second, &a, &b)) {
        ui_put(&line, ": ");
        put_value(&line, a);
        ui_put(&line, " against ");
        put_value(&line, b);
    }
    ui_put(&line, ".");
    ui_put(ui, "\n");
    ui_paragraph(ui, 0, line.text == NULL ? "" : line.text);
    ui->failed = ui->failed || line.failed;
    ui_done(&line);
}

void ui_alloc(struct ui *ui, const json_t *reply)
{
    static const char *const header[] = {"memory", "kind", "predicted", "free", "call"};
    const json_t *options = json_object_get(reply, "options"), *option;
    struct ui_table table;
    size_t i;
    ui_table_begin(&table, ui, "lllrl");
    for (i = 0; i < sizeof header / sizeof header[0]; i++)
        ui_cell(&table, "%s", header[i]);
    json_array_foreach(options, i, option)
    {
        put_option(&table, option);
    }
    ui_table_end(&table, 0, true);
    put_reason(ui, options);
    ui_evidence(ui, json_object_get(json_array_get(options, 0), "why"));
    ui_warnings(ui, json_object_get(reply, "warnings"));
    ui_basis(ui, ui_member(json_object_get(reply, "basis"), "origin"));
}
