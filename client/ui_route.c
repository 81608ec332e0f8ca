#include <stdio.h>
#include <string.h>

#include "ui_answer.h"

/* "copy engine", "kernel via gpu2 in pieces of 4 MiB". */
static void put_way(struct ui *ui, const json_t *segment)
{
    const json_t *via = json_object_get(segment, "via"), *place, *chunk = json_object_get(segment, "chunk_bytes");
    const char *mechanism = ui_member(segment, "mechanism");
    char number[UI_NUMBER];
    size_t i;
    ui_text(ui, strcmp(mechanism, "copy_engine") == 0 ? "copy engine" : mechanism);
    json_array_foreach(via, i, place)
    {
        ui_put(ui, i == 0 ? " via " : ", ");
        ui_text(ui, json_is_string(place) ? json_string_value(place) : "?");
    }
    if (json_is_integer(chunk))
        ui_put(ui, " in pieces of %s", ui_bytes(number, json_integer_value(chunk)));
}

static void put_option(struct ui_table *table, const json_t *option)
{
    struct ui *ui = table->ui;
    struct ui way = {.utf8 = ui->utf8, .width = ui->width}, time = {.utf8 = ui->utf8, .width = ui->width};
    const char *name;
    const json_t *segments = json_object_get(option, "segments"), *segment, *value;
    size_t i;
    json_array_foreach(segments, i, segment)
    {
        ui_put(&way, "%s", i > 0 ? " and " : "");
        put_way(&way, segment);
    }
    const char *shared = ui_member(json_object_get(option, "predicted"), "bottleneck");
    ui_prediction(&time, json_object_get(option, "predicted"));
    if (*shared != '\0') {
        ui_put(&time, ", shares ");
        ui_text(&time, shared);
    }
    ui_cell(table, "%s", way.text == NULL ? "" : way.text);
    ui_cell(table, "%s", time.text == NULL ? "" : time.text);
    ui_done(&time);
    struct ui call = {.utf8 = ui->utf8, .width = ui->width};
    ui_text(&call, ui_member(option, "call"));
    json_object_foreach((json_t *)(uintptr_t)json_object_get(option, "environment"), name, value)
    {
        ui_put(&call, " with ");
        ui_text(&call, name);
        ui_put(&call, "=");
        ui_text(&call, json_is_string(value) ? json_string_value(value) : "?");
    }
    if (json_is_true(json_object_get(option, "needs_restart")))
        ui_put(&call, " set before the program starts");
    ui_cell(table, "%s", call.text == NULL ? "" : call.text);
    ui->failed = ui->failed || way.failed || time.failed || call.failed;
    ui_done(&way);
    ui_done(&call);
}

static void put_way_of(struct ui *ui, const json_t *options, const json_t *index)
{
    const json_t *option = json_array_get(options, (size_t)json_integer_value(index));
    put_way(ui, json_array_get(json_object_get(option, "segments"), 0));
}

static void put_sizes(struct ui *ui, const json_t *reply)
{
    const json_t *options = json_object_get(reply, "options"), *crossover, *b80 = json_object_get(reply, "b80_bytes");
    char number[UI_NUMBER];
    size_t i;
    json_array_foreach(json_object_get(reply, "crossovers"), i, crossover)
    {
        ui_put(ui, "%sbelow %s ", i == 0 ? "\n" : "", ui_bytes(number, json_integer_value(json_object_get(crossover, "bytes"))));
        put_way_of(ui, options, json_object_get(crossover, "below"));
        ui_put(ui, ", from there on ");
        put_way_of(ui, options, json_object_get(crossover, "above"));
        ui_put(ui, "\n");
    }
    if (json_is_number(b80))
        ui_put(ui, "%sfrom %s on the first gets 80 %% of its highest rate\n", i == 0 ? "\n" : "", ui_bytes(number, (int64_t)json_number_value(b80)));
}

void ui_route(struct ui *ui, const json_t *reply)
{
    static const char *const header[] = {"way", "predicted", "call"};
    const json_t *options = json_object_get(reply, "options"), *option;
    struct ui_table table;
    size_t i;
    ui_table_begin(&table, ui, "lll");
    for (i = 0; i < sizeof header / sizeof header[0]; i++)
        ui_cell(&table, "%s", header[i]);
    json_array_foreach(options, i, option)
    {
        put_option(&table, option);
    }
    ui_table_end(&table, 0, true);
    put_sizes(ui, reply);
    ui_evidence(ui, json_object_get(json_array_get(options, 0), "why"));
    ui_warnings(ui, json_object_get(reply, "warnings"));
    ui_basis(ui, ui_member(json_object_get(reply, "basis"), "origin"));
}
