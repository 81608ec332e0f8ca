/* Text of the daemon's state, a probe's progress and its summary. */

#include <stdio.h>
#include <string.h>

#include "ui/answer.h"

#define BAR_COLUMNS 30
#define MANY        4 /* left-out items with one reason that make one line */

/* Prints which gpus are profiled, how and by whom, and how many claims wait for theirs. */
static void put_profiled(struct ui_table *table, const json_t *reply)
{
    const json_t *claim;
    size_t i, count = 0, waiting = json_array_size(json_object_get(reply, "waiting"));
    json_array_foreach(json_object_get(reply, "claims"), i, claim)
    {
        const char *configuration = ui_member(claim, "configuration");
        struct ui line = {.utf8 = table->ui->utf8};
        if (strcmp(ui_member(claim, "purpose"), "profiling") != 0)
            continue;
        ui_claim_holding(&line, claim);
        ui_cell(table, "%s", count++ == 0 ? "profiled" : "");
        ui_cell(table, "%s%s%s", line.text != NULL ? line.text : "?",
                *configuration != '\0' ? ": " : "", configuration);
        ui_done(&line);
    }
    if (waiting > 0) {
        ui_cell(table, "waiting");
        ui_cell(table, "%zu claim%s for profiling (berth claims)", waiting,
                waiting == 1 ? "" : "s");
    }
}

/* Adds the rows of background measuring. */
static void put_measuring(struct ui_table *table, struct ui *ui, const json_t *measuring)
{
    const char *last = ui_member(measuring, "last"), *next = ui_member(measuring, "next"),
               *waits = ui_member(measuring, "waits"), *beside = ui_member(measuring, "beside");
    const json_t *next_at = json_object_get(measuring, "next_at_s"),
                 *oldest_at = json_object_get(measuring, "oldest_at_s");
    char text[UI_NUMBER];
    if (!json_is_object(measuring))
        return;
    ui_cell(table, "background");
    if (*last != '\0')
        ui_cell(table, "%s, took %s", last,
                ui_time(ui, text, ui_member_number(measuring, "last_cost_ns")));
    else
        ui_cell(table, "nothing yet");
    ui_cell(table, "duty");
    ui_cell(table, "%.2g %% of the last hour, %.2g %% of the last day; budget %.2g %%",
            100 * ui_member_number(measuring, "last_hour"),
            100 * ui_member_number(measuring, "last_day"),
            100 * ui_member_number(measuring, "budget"));
    ui_cell(table, "next");
    if (json_is_integer(next_at))
        ui_cell(table, "%s: %s", ui_when(text, json_integer_value(next_at)), next);
    else
        ui_cell(table, "%s", *next != '\0' ? next : "nothing was measured yet");
    if (*waits != '\0') {
        ui_cell(table, "waits for");
        ui_cell(table, "%s", waits);
    }
    if (*beside != '\0') {
        ui_cell(table, "beside");
        ui_cell(table, "%s; idle gpus only", beside);
    }
    if (json_is_integer(oldest_at)) {
        ui_cell(table, "oldest");
        ui_cell(table, "%s", ui_when(text, json_integer_value(oldest_at)));
    }
}

/* The first line: "ready, last measured 2026-11-20 11:12:13 CET; 2 problems". */
static void put_state(struct ui *ui, const json_t *reply)
{
    const json_t *progress = json_object_get(reply, "progress"),
                 *at = json_object_get(reply, "last_probe_at_s");
    size_t problems = json_array_size(json_object_get(reply, "problems"));
    char when[UI_NUMBER];
    ui_style(ui, UI_BOLD);
    ui_text(ui, ui_member(reply, "state"));
    if (json_is_number(progress))
        ui_put(ui, ", %.0f %%", 100 * json_number_value(progress));
    if (json_is_integer(at))
        ui_put(ui, ", last measured %s", ui_when(when, json_integer_value(at)));
    else
        ui_put(ui, ", never measured");
    if (problems > 0)
        ui_put(ui, "; %zu problem%s", problems, problems == 1 ? "" : "s");
    ui_put(ui, "\n");
    ui_style(ui, UI_PLAIN);
}

void ui_status(struct ui *ui, const json_t *reply)
{
    const json_t *basis = json_object_get(reply, "basis"), *problem;
    const char *store = ui_member(reply, "store");
    char when[UI_NUMBER];
    struct ui_table table;
    size_t i;
    put_state(ui, reply);
    ui_table_begin(&table, ui, "ll");
    ui_cell(&table, "version");
    ui_cell(&table, "%s", ui_member(reply, "version"));
    ui_cell(&table, "started");
    ui_cell(&table, "%s",
            ui_when(when, json_integer_value(json_object_get(reply, "started_at_s"))));
    put_measuring(&table, ui, json_object_get(reply, "measuring"));
    ui_cell(&table, "store");
    if (strcmp(store, "memory_only") == 0)
        ui_cell(&table, "memory only: measurements are lost when the daemon ends");
    else if (strcmp(store, "set_aside") == 0)
        ui_cell(&table, "a broken database was set aside and a new one begun");
    else
        ui_cell(&table, "%s", store);
    ui_cell(&table, "clients");
    ui_cell(&table, "%lld", (long long)json_integer_value(json_object_get(reply, "clients")));
    ui_cell(&table, "snapshot");
    ui_cell(&table, "%s", ui_member(basis, "snapshot"));
    ui_cell(&table, "origin");
    ui_cell(&table, "%s", ui_member(basis, "origin"));
    put_profiled(&table, reply);
    json_array_foreach(json_object_get(reply, "problems"), i, problem)
    {
        ui_cell(&table, "%s", i == 0 ? "problems" : "");
        ui_cell(&table, "%s", json_is_string(problem) ? json_string_value(problem) : "?");
    }
    ui_table_end(&table, 0, false);
}

static long long count_of(const json_t *reply, const char *key)
{
    return (long long)json_integer_value(json_object_get(reply, key));
}

static void put_what(struct ui *ui, const json_t *reply)
{
    const char *metric = ui_member(reply, "metric");
    const json_t *remaining = json_object_get(reply, "remaining_ns");
    char time[UI_NUMBER];
    ui_put(ui, "%lld of %lld", count_of(reply, "done"), count_of(reply, "total"));
    if (*metric != '\0') {
        ui_put(ui, "  ");
        ui_text(ui, metric);
        ui_put(ui, " ");
        ui_text(ui, ui_member(reply, "from"));
        ui_put(ui, " ");
        ui_text(ui, ui_member(reply, "to"));
    }
    if (json_integer_value(remaining) > 0) /* the last reply has 0 */
        ui_put(ui, "  %s left", ui_time(ui, time, (double)json_integer_value(remaining)));
}

void ui_bar(struct ui *ui, long long done, long long total)
{
    int full = total > 0 && done >= 0 && done <= total ? (int)(done * BAR_COLUMNS / total) : 0;
    ui_put(ui, "\r[");
    for (int i = 0; i < BAR_COLUMNS; i++)
        ui_put(ui, "%s", i < full ? (ui->utf8 ? "\u2588" : "#") : ui->utf8 ? "\u2591" : ".");
    ui_put(ui, "] ");
}

void ui_progress_bar(struct ui *ui, const json_t *reply)
{
    ui_bar(ui, count_of(reply, "done"), count_of(reply, "total"));
    put_what(ui, reply);
    ui_put(ui, "\033[K");
}

void ui_progress_line(struct ui *ui, const json_t *reply)
{
    put_what(ui, reply);
    ui_put(ui, "\n");
}

/* True when both are values of one metric, left out for the same reason. */
static bool has_same_reason(const json_t *a, const json_t *b)
{
    return json_is_string(json_object_get(a, "metric")) &&
           json_equal(json_object_get(a, "metric"), json_object_get(b, "metric")) &&
           json_equal(json_object_get(a, "why"), json_object_get(b, "why"));
}

/* Prints items left out for one common reason as one line, at the position of the first. */
static void put_left_out(struct ui *ui, const json_t *skipped, size_t at)
{
    const json_t *item = json_array_get(skipped, at);
    const char *metric = ui_member(item, "metric"), *what = ui_member(item, "what"),
               *why = ui_member(item, "why");
    size_t alike = 0, before = 0;
    for (size_t i = 0; i < json_array_size(skipped); i++) {
        bool same = has_same_reason(item, json_array_get(skipped, i));
        alike += same;
        before += same && i < at;
    }
    if (alike >= MANY && before > 0)
        return;
    char line[1024];
    if (alike >= MANY)
        snprintf(line, sizeof line, "%s, %zu times: %s (%s, ...)", metric, alike, why, what);
    else
        snprintf(line, sizeof line, "%s%s%s%s%s", metric, *metric != '\0' ? " " : "", what,
                 *metric != '\0' || *what != '\0' ? ": " : "", why);
    ui_put(ui, *metric != '\0' ? "  " : "");
    ui_paragraph(ui, *metric != '\0' ? 4 : 2, line);
}

/* True for a program that failed, or a whole gpu, rather than a value. */
static bool is_no_value(const json_t *skipped, size_t at)
{
    return !json_is_string(json_object_get(json_array_get(skipped, at), "metric"));
}

void ui_probe_summary(struct ui *ui, const json_t *reply)
{
    const json_t *skipped = json_object_get(reply, "skipped");
    long long measured = count_of(reply, "measured"), left_out = count_of(reply, "left_out"),
              listed = (long long)json_array_size(skipped), values = 0;
    for (size_t i = 0; i < json_array_size(skipped); i++) {
        values += !is_no_value(skipped, i);
        if (is_no_value(skipped, i))
            put_left_out(ui, skipped, i);
    }
    if (json_is_integer(json_object_get(reply, "measured")))
        ui_put(ui, "%lld value%s measured, %lld left out%s\n", measured, measured == 1 ? "" : "s",
               left_out, values > 0 ? ":" : "");
    else
        ui_put(ui, "%lld of %lld tried%s\n", count_of(reply, "done"), count_of(reply, "total"),
               values > 0 ? "; left out:" : "");
    for (size_t i = 0; i < json_array_size(skipped); i++)
        if (!is_no_value(skipped, i))
            put_left_out(ui, skipped, i);
    if (left_out > listed)
        ui_put(ui, "  and %lld more\n", left_out - listed);
}
