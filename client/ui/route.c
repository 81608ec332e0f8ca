/* Text of a reply of Route: paths, times, and paths worth measuring. */
#include <stdio.h>
#include <string.h>

#include "ui/answer.h"

#define OTHERS_MOST 5  /* options besides the first, unless all are wanted */
#define WHY_ROWS    22 /* of a screen, below the options */

static const char *mechanism_of(const json_t *segment)
{
    const char *mechanism = ui_member(segment, "mechanism");
    return strcmp(mechanism, "copy_engine") == 0 || strcmp(mechanism, "host") == 0 ? "copy engine"
                                                                                   : mechanism;
}

/* Prints "copy engine", "kernel via gpu2 in pieces of 4 MiB". */
static void put_path(struct ui *ui, const json_t *segment)
{
    const json_t *place, *chunk = json_object_get(segment, "chunk_bytes");
    char number[UI_NUMBER];
    size_t i;
    ui_text(ui, mechanism_of(segment));
    json_array_foreach(json_object_get(segment, "via"), i, place)
    {
        ui_put(ui, i == 0 ? " via " : ", ");
        ui_text(ui, json_is_string(place) ? json_string_value(place) : "?");
    }
    if (json_is_integer(chunk))
        ui_put(ui, " in pieces of %s", ui_bytes(number, json_integer_value(chunk)));
}

/* Prints "copy engine via gpu2", or "3 paths at once" of a split. */
static void put_option_name(struct ui *ui, const json_t *option)
{
    const json_t *segments = json_object_get(option, "segments");
    if (json_array_size(segments) > 1)
        ui_put(ui, "%zu paths at once", json_array_size(segments));
    else
        put_path(ui, json_array_get(segments, 0));
}

/* Prints the parts of a split in one line: "copy engine 38 %, via gpu2 19 %, via numa1 43 %". */
static void put_parts(struct ui *ui, const json_t *segments)
{
    const json_t *segment, *place;
    const char *before = "";
    size_t i, k;
    json_array_foreach(segments, i, segment)
    {
        const char *mechanism = mechanism_of(segment), *separator = i > 0 ? ", " : "";
        const json_t *via = json_object_get(segment, "via");
        if (strcmp(mechanism, before) != 0) {
            ui_put(ui, "%s", separator);
            ui_text(ui, mechanism);
            separator = " ";
        }
        json_array_foreach(via, k, place)
        {
            ui_put(ui, "%s%s", k == 0 ? separator : ", ", k == 0 ? "via " : "");
            ui_text(ui, json_is_string(place) ? json_string_value(place) : "?");
        }
        ui_put(ui, " %.0f %%", 100 * json_number_value(json_object_get(segment, "fraction")));
        before = mechanism;
    }
}

static void put_shared(struct ui *ui, const json_t *option, const char *before, const char *behind)
{
    const char *shared = ui_member(json_object_get(option, "predicted"), "bottleneck");
    if (*shared == '\0')
        return;
    ui_put(ui, "%sshares ", before);
    ui_limit(ui, shared);
    ui_put(ui, "%s", behind);
}

static double time_of(const json_t *option)
{
    return json_number_value(json_object_get(json_object_get(option, "predicted"), "time_ns"));
}

/* The interval of a time stands with --why alone: the list compares. */
static void put_option(struct ui_table *table, const json_t *option, double best_ns)
{
    struct ui *ui = table->ui;
    struct ui path = {.utf8 = ui->utf8, .width = ui->width},
              time = {.utf8 = ui->utf8, .width = ui->width};
    const json_t *segments = json_object_get(option, "segments"),
                 *predicted = json_object_get(option, "predicted");
    char ratio[UI_NUMBER];
    put_option_name(&path, option);
    if (json_array_size(segments) > 1) {
        ui_put(&path, ": ");
        put_parts(&path, segments);
    }
    put_shared(&path, option, " (", ")");
    if (ui->why)
        ui_prediction(&time, predicted);
    else
        ui_prediction_short(&time, predicted);
    snprintf(ratio, sizeof ratio, "%.2f %s", time_of(option) / best_ns, ui->utf8 ? "\u00d7" : "x");
    ui_cell(table, "%s", best_ns > 0 && !ui_is_unmeasured(predicted) ? ratio : "");
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
                   : " (the default)");
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

/* Prints which option leads over which sizes: each crossover begins where the one before ends. */
static void put_sizes(struct ui *ui, const json_t *reply)
{
    const json_t *options = json_object_get(reply, "options"), *crossover,
                 *crossovers = json_object_get(reply, "crossovers"),
                 *b80 = json_object_get(reply, "b80_bytes");
    struct ui line = {.utf8 = ui->utf8, .width = ui->width};
    char number[UI_NUMBER];
    size_t i, count = json_array_size(crossovers);
    json_array_foreach(crossovers, i, crossover)
    {
        const json_t *below = json_object_get(crossover, "below"),
                     *above = json_object_get(crossover, "above");
        ui_put(&line, "up to %s ",
               ui_bytes(number, json_integer_value(json_object_get(crossover, "bytes"))));
        put_option_name(&line, json_array_get(options, (size_t)json_integer_value(below)));
        ui_put(&line, i + 1 < count ? ", " : "; from there on ");
        if (i + 1 == count)
            put_option_name(&line, json_array_get(options, (size_t)json_integer_value(above)));
    }
    if (count > 0 || json_is_number(b80))
        ui_put(ui, "\n");
    if (count > 0)
        ui_paragraph(ui, 2, line.text == NULL ? "" : line.text);
    if (json_is_number(b80))
        ui_put(ui, "from %s on the first gets 80 %% of its highest rate\n",
               ui_bytes(number, (int64_t)json_number_value(b80)));
    ui->failed = ui->failed || line.failed;
    ui_done(&line);
}

/* True when an option before that one asks for the same command. */
static bool is_asked_before(const json_t *options, size_t end, const char *command)
{
    for (size_t i = 0; i < end; i++)
        if (strcmp(ui_member(json_array_get(options, i), "worth_measuring"), command) == 0)
            return true;
    return false;
}

/* Prints the command that measures the first option that may be faster once measured. With --why,
 * prints the commands of all such options. A recorded node cannot be measured. */
static void put_worth(struct ui *ui, const json_t *options, const char *origin)
{
    const json_t *option;
    size_t i;
    if (strcmp(origin, "recorded") == 0 || strcmp(origin, "reconstructed") == 0)
        return;
    json_array_foreach(options, i, option)
    {
        const char *command = ui_member(option, "worth_measuring");
        struct ui line = {.utf8 = ui->utf8, .width = ui->width};
        if (*command == '\0' || is_asked_before(options, i, command))
            continue;
        ui_put(&line, "worth measuring: ");
        ui_text(&line, command);
        ui_paragraph(ui, 2, line.text == NULL ? "" : line.text);
        ui->failed = ui->failed || line.failed;
        ui_done(&line);
        if (!ui->why)
            break;
    }
}

/* Prints why an option that looks faster is not the first: with --why the reasons say so. */
static void put_not_first(struct ui *ui, const json_t *reply)
{
    const json_t *options = json_object_get(reply, "options"), *reason,
                 *predicted = json_object_get(json_array_get(options, 0), "predicted");
    size_t i;
    json_array_foreach(json_object_get(reply, "reasons"), i, reason)
    {
        bool is_one =
            ui_reason_is(reason, "gains-little") || ui_reason_is(reason, "not-measured-together");
        if (is_one && !ui->why && !ui_is_unmeasured(predicted))
            ui_paragraph(ui, 2, ui_reason_text(reason));
    }
    put_worth(ui, options, ui_member(json_object_get(reply, "basis"), "origin"));
}

/* Prints the time of the option, and a row each path of a split. */
static void put_answer(struct ui *ui, const json_t *option)
{
    struct ui line = {.utf8 = ui->utf8, .width = ui->width};
    const json_t *segments = json_object_get(option, "segments"), *segment;
    size_t i;
    put_option_name(&line, option);
    ui_put(&line, ": ");
    ui_prediction(&line, json_object_get(option, "predicted"));
    put_shared(&line, option, ", ", "");
    ui_style(ui, UI_BOLD);
    ui_paragraph(ui, 2, line.text == NULL ? "" : line.text);
    ui_style(ui, UI_PLAIN);
    json_array_foreach(segments, i, segment)
    {
        if (json_array_size(segments) == 1)
            break;
        ui_put(ui, "  %2.0f %%  ", 100 * json_number_value(json_object_get(segment, "fraction")));
        put_path(ui, segment);
        ui_put(ui, "\n");
    }
    ui->failed = ui->failed || line.failed;
    ui_done(&line);
}

/* Prints options behind the first, up to most of them all. */
static void put_table(struct ui *ui, const json_t *options, size_t most)
{
    static const char *const header[] = {"vs first", "predicted", "path"};
    const json_t *predicted = json_object_get(json_array_get(options, 0), "predicted");
    double best_ns = ui_is_unmeasured(predicted) ? 0 : ui_member_number(predicted, "time_ns");
    struct ui_table table;
    size_t count = json_array_size(options);
    ui_put(ui, "\n");
    ui_table_begin(&table, ui, "rll"); /* a split has a long name, which the last column can wrap */
    for (size_t i = 0; i < sizeof header / sizeof header[0]; i++)
        ui_cell(&table, "%s", header[i]);
    for (size_t i = 1; i < most; i++)
        put_option(&table, json_array_get(options, i), best_ns);
    ui_table_end(&table, 0, true);
    if (count > most)
        ui_put(ui, "and %zu more%s\n", count - most, ui->why ? " (--why | less shows them)" : "");
}

/* With --why a terminal gets as many as leave room for what they rest on, one at least. */
static void put_others(struct ui *ui, const json_t *options)
{
    size_t count = json_array_size(options), most = count,
           room = ui_rows(ui) < UI_ROWS - WHY_ROWS ? UI_ROWS - WHY_ROWS - ui_rows(ui) : 0,
           rows = room + 1;
    if (!ui->why && most > OTHERS_MOST + 1)
        most = OTHERS_MOST + 1;
    for (; ui->why && ui->is_terminal && most > 2 && rows > room; most -= rows > room) {
        struct ui table = {.utf8 = ui->utf8, .width = ui->width, .why = true};
        put_table(&table, options, most);
        rows = ui_rows(&table);
        ui->failed = ui->failed || table.failed;
        ui_done(&table);
    }
    if (count > 1)
        put_table(ui, options, most);
}

void ui_route(struct ui *ui, const json_t *reply)
{
    const json_t *options = json_object_get(reply, "options");
    put_answer(ui, json_array_get(options, 0));
    put_calls(ui, options);
    put_not_first(ui, reply);
    put_others(ui, options);
    put_sizes(ui, reply);
    ui_why(ui, reply, json_object_get(json_array_get(options, 0), "evidence"));
}
