/* Text of a reply of Route: paths, times, and paths worth measuring. */
#include <stdio.h>
#include <string.h>

#include "ui/answer.h"

#define OTHERS_MOST 5 /* options besides the first, unless all are wanted */

/* Prints "copy engine", "kernel via gpu2 in pieces of 4 MiB"; in a split also the fraction of the
 * part. */
static void put_path(struct ui *ui, const json_t *segment)
{
    const json_t *via = json_object_get(segment, "via"), *place,
                 *chunk = json_object_get(segment, "chunk_bytes");
    const char *mechanism = ui_member(segment, "mechanism");
    double fraction = json_number_value(json_object_get(segment, "fraction"));
    char number[UI_NUMBER];
    size_t i;
    if (fraction > 0 && fraction < 1)
        ui_put(ui, "%.0f %% by ", 100 * fraction);
    ui_text(ui, strcmp(mechanism, "copy_engine") == 0 || strcmp(mechanism, "host") == 0
                    ? "copy engine"
                    : mechanism);
    json_array_foreach(via, i, place)
    {
        ui_put(ui, i == 0 ? " via " : ", ");
        ui_text(ui, json_is_string(place) ? json_string_value(place) : "?");
    }
    if (json_is_integer(chunk))
        ui_put(ui, " in pieces of %s", ui_bytes(number, json_integer_value(chunk)));
}

static void put_paths(struct ui *ui, const json_t *option)
{
    const json_t *segment;
    size_t i;
    json_array_foreach(json_object_get(option, "segments"), i, segment)
    {
        ui_put(ui, "%s", i > 0 ? ", " : "");
        put_path(ui, segment);
    }
}

/* Prints the winner over a range of sizes. The number of useful paths and their shares depend on
 * the size. */
static void put_winner(struct ui *ui, const json_t *options, const json_t *index)
{
    const json_t *option = json_array_get(options, (size_t)json_integer_value(index));
    if (json_array_size(json_object_get(option, "segments")) > 1)
        ui_put(ui, "several paths at once (ask with a size for which)");
    else
        put_paths(ui, option);
}

static double time_of(const json_t *option)
{
    return json_number_value(json_object_get(json_object_get(option, "predicted"), "time_ns"));
}

static void put_option(struct ui_table *table, const json_t *option, double best_ns)
{
    struct ui *ui = table->ui;
    struct ui path = {.utf8 = ui->utf8, .width = ui->width},
              time = {.utf8 = ui->utf8, .width = ui->width};
    const char *shared = ui_member(json_object_get(option, "predicted"), "bottleneck");
    put_paths(&path, option);
    ui_prediction(&time, json_object_get(option, "predicted"));
    if (*shared != '\0') {
        ui_put(&time, ", shares ");
        ui_text(&time, shared);
    }
    ui_cell(table, "%.2f", best_ns > 0 ? time_of(option) / best_ns : 1.0);
    ui_cell(table, "%s", time.text == NULL ? "" : time.text);
    ui_cell(table, "%s", path.text == NULL ? "" : path.text);
    ui->failed = ui->failed || path.failed || time.failed;
    ui_done(&path);
    ui_done(&time);
}

/* Prints the call and its settings, for the best option and for the best one that needs no restart.
 */
static void put_call(struct ui *ui, const json_t *option)
{
    const json_t *value;
    const char *name, *separator = "  with ";
    ui_call(ui, ui_member(option, "call"));
    json_object_foreach((json_t *)(uintptr_t)json_object_get(option, "environment"), name, value)
    {
        ui_put(ui, "%s", separator);
        ui_text(ui, name);
        ui_put(ui, "=");
        ui_text(ui, json_is_string(value) ? json_string_value(value) : "?");
        separator = " ";
    }
    if (json_object_size(json_object_get(option, "environment")) > 0)
        ui_put(ui, "%s\n",
               json_is_true(json_object_get(option, "needs_restart"))
                   ? ", set before the program starts"
                   : ", as it is where nothing is set");
}

static bool is_direct(const json_t *option)
{
    const json_t *segments = json_object_get(option, "segments");
    return json_array_size(segments) == 1 &&
           json_array_size(json_object_get(json_array_get(segments, 0), "via")) == 0;
}

/* Finds the best option without a restart: one that may lead, else a direct path, else any. NULL
 * when there is none. */
static const json_t *find_running(const json_t *options)
{
    const json_t *option, *direct = NULL, *other = NULL;
    size_t i;
    json_array_foreach(options, i, option)
    {
        if (json_is_true(json_object_get(option, "needs_restart")))
            continue;
        if (json_is_true(json_object_get(option, "may_lead")))
            return option;
        direct = direct == NULL && is_direct(option) ? option : direct;
        other = other == NULL ? option : other;
    }
    return direct != NULL ? direct : other;
}

static void put_calls(struct ui *ui, const json_t *options)
{
    const json_t *first = json_array_get(options, 0), *running = find_running(options);
    put_call(ui, first);
    if (running == NULL || !json_is_true(json_object_get(first, "needs_restart")))
        return;
    ui_put(ui, "In a program that runs already\n");
    put_call(ui, running);
}

static void put_sizes(struct ui *ui, const json_t *reply)
{
    const json_t *options = json_object_get(reply, "options"), *crossover,
                 *b80 = json_object_get(reply, "b80_bytes");
    char number[UI_NUMBER];
    size_t i;
    json_array_foreach(json_object_get(reply, "crossovers"), i, crossover)
    {
        struct ui line = {.utf8 = ui->utf8, .width = ui->width};
        ui_put(&line, "below %s ",
               ui_bytes(number, json_integer_value(json_object_get(crossover, "bytes"))));
        put_winner(&line, options, json_object_get(crossover, "below"));
        ui_put(&line, "; from there on ");
        put_winner(&line, options, json_object_get(crossover, "above"));
        ui_put(ui, "%s", i == 0 ? "\n" : "");
        ui_paragraph(ui, 2, line.text == NULL ? "" : line.text);
        ui->failed = ui->failed || line.failed;
        ui_done(&line);
    }
    if (json_is_number(b80))
        ui_put(ui, "%sfrom %s on the first gets 80 %% of its highest rate\n", i == 0 ? "\n" : "",
               ui_bytes(number, (int64_t)json_number_value(b80)));
}

/* Prints the first option that may be faster once measured, with the command that measures it; all
 * such options with --why. */
static void put_worth(struct ui *ui, const json_t *options)
{
    const json_t *option;
    double best_ns = time_of(json_array_get(options, 0));
    size_t i;
    json_array_foreach(options, i, option)
    {
        const char *command = ui_member(option, "worth_measuring");
        struct ui line = {.utf8 = ui->utf8, .width = ui->width};
        if (*command == '\0')
            continue;
        ui_put(&line, "worth measuring: ");
        ui_text(&line, command);
        ui_put(&line, " (for that which might take %.2f times as long)",
               best_ns > 0 ? time_of(option) / best_ns : 1.0);
        ui_paragraph(ui, 2, line.text == NULL ? "" : line.text);
        ui->failed = ui->failed || line.failed;
        ui_done(&line);
        if (!ui->why)
            break;
    }
}

/* Prints why an option that looks faster is not the first. */
static void put_not_first(struct ui *ui, const json_t *reasons)
{
    const json_t *reason;
    size_t i;
    json_array_foreach(reasons, i, reason)
    {
        if (ui_reason_is(reason, "gains-little") || ui_reason_is(reason, "not-measured-together"))
            ui_paragraph(ui, 2, ui_reason_text(reason));
    }
}

static void put_answer(struct ui *ui, const json_t *option)
{
    struct ui line = {.utf8 = ui->utf8, .width = ui->width};
    const char *shared = ui_member(json_object_get(option, "predicted"), "bottleneck");
    put_paths(&line, option);
    ui_put(&line, ": ");
    ui_prediction(&line, json_object_get(option, "predicted"));
    if (*shared != '\0') {
        ui_put(&line, ", shares ");
        ui_text(&line, shared);
    }
    ui_style(ui, UI_BOLD);
    ui_paragraph(ui, 2, line.text == NULL ? "" : line.text);
    ui_style(ui, UI_PLAIN);
    ui->failed = ui->failed || line.failed;
    ui_done(&line);
}

static void put_others(struct ui *ui, const json_t *options)
{
    static const char *const header[] = {"times", "predicted", "path"};
    double best_ns = time_of(json_array_get(options, 0));
    struct ui_table table;
    size_t count = json_array_size(options), most = ui->why ? count : OTHERS_MOST + 1;
    if (count < 2)
        return;
    ui_put(ui, "\n");
    ui_table_begin(&table, ui, "rll"); /* a split has a long name, which the last column can wrap */
    for (size_t i = 0; i < sizeof header / sizeof header[0]; i++)
        ui_cell(&table, "%s", header[i]);
    for (size_t i = 1; i < count && i < most; i++)
        put_option(&table, json_array_get(options, i), best_ns);
    ui_table_end(&table, 0, true);
    if (count > most)
        ui_put(ui, "and %zu more\n", count - most);
}

void ui_route(struct ui *ui, const json_t *reply)
{
    const json_t *options = json_object_get(reply, "options");
    put_answer(ui, json_array_get(options, 0));
    put_calls(ui, options);
    if (!ui->why)
        put_not_first(ui, json_object_get(reply, "reasons"));
    put_others(ui, options);
    put_worth(ui, options);
    put_sizes(ui, reply);
    ui_why(ui, reply, json_object_get(json_array_get(options, 0), "evidence"));
    ui_basis(ui, ui_member(json_object_get(reply, "basis"), "origin"));
}
