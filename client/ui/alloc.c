/* Text of a reply of Allocate: a table of options. */
#include <stdio.h>
#include <string.h>

#include "ui/answer.h"

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
    ui_cell(table, "%s",
            json_is_integer(free_bytes) ? ui_bytes(number, json_integer_value(free_bytes))
                                        : "unknown");
    ui_cell(table, "%s", ui_member(option, "call"));
    ui->failed = ui->failed || time.failed;
    ui_done(&time);
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
    json_array_foreach(options, i, option) { put_option(&table, option); }
    ui_table_end(&table, 0, true);
    ui_reasons(ui, json_object_get(reply, "reasons"));
    ui_evidence(ui, json_object_get(json_array_get(options, 0), "evidence"));
    ui_warnings(ui, json_object_get(reply, "warnings"));
    ui_basis(ui, ui_member(json_object_get(reply, "basis"), "origin"));
}
