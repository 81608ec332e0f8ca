/* GetContention as text for a person: a line for each concurrent run, and the limits that the runs
 * show to be shared. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/answer.h"

#define LIMITS_SHOWN  4 /* of a metric */
#define LINE_SIZE     512
#define EACH_MOST     2  /* most rates in a list */
#define NAMES_COLUMNS 24 /* columns of the transfers' names */

/* Appends text; cut where it does not fit. */
static void add(char *line, size_t size, const char *text, const char *separator)
{
    size_t used = strlen(line);
    snprintf(line + used, size - used, "%s%s", used > 0 ? separator : "", text);
}

static bool is_same_end(const json_t *flows, size_t a, size_t b, const char *key)
{
    return strcmp(ui_member(json_array_get(flows, a), key),
                  ui_member(json_array_get(flows, b), key)) == 0;
}

/* "gpu0,gpu1>numa0 numa0>gpu0,gpu1", or "gpu0>gpu1 gpu2>gpu3": flows in sequence with one end in
 * common stand together. */
static void name_flows(const json_t *flows, char *line, size_t size)
{
    size_t count = json_array_size(flows), end;
    line[0] = '\0';
    for (size_t i = 0; i < count; i = end) {
        bool is_from = i + 1 < count && is_same_end(flows, i, i + 1, "from");
        const char *common = is_from ? "from" : "to", *other = is_from ? "to" : "from";
        for (end = i + 1; end < count && is_same_end(flows, i, end, common);)
            end++;
        if (is_from)
            add(line, size, ui_member(json_array_get(flows, i), common), " ");
        for (size_t k = i; k < end; k++)
            add(line, size, ui_member(json_array_get(flows, k), other),
                k > i     ? ","
                : is_from ? ">"
                          : " ");
        if (!is_from)
            add(line, size, ui_member(json_array_get(flows, i), common), ">");
    }
}

/* "kind=pinned operation=read"; the axes of each flow when they differ. */
static void name_axes(const json_t *flows, char *line, size_t size)
{
    const json_t *flow, *first = json_object_get(json_array_get(flows, 0), "axes");
    const char *key;
    json_t *value;
    size_t i;
    line[0] = '\0';
    json_array_foreach(flows, i, flow)
    {
        json_t *axes = json_object_get(flow, "axes");
        if (i > 0 && json_equal(axes, first))
            continue;
        add(line, size, "", "; ");
        const char *separator = "";
        json_object_foreach(axes, key, value)
        {
            char axis[128];
            if (strcmp(key, "bytes") == 0 && json_is_string(value) &&
                strcmp(json_string_value(value), "large") == 0)
                continue;
            snprintf(axis, sizeof axis, "%s=%s", key,
                     json_is_string(value) ? json_string_value(value) : "?");
            add(line, size, axis, separator);
            separator = " ";
        }
    }
}

/* Rates in GB/s: each one, or from the least to the most. */
static void list_rates(const json_t *flows, char *line, size_t size)
{
    char number[UI_NUMBER], most[UI_NUMBER];
    const json_t *flow;
    double low = NAN, high = NAN;
    size_t i;
    line[0] = '\0';
    json_array_foreach(flows, i, flow)
    {
        double rate = ui_member_number(flow, "bytes_per_s") / 1e9;
        low = fmin(low, rate);
        high = fmax(high, rate);
        if (json_array_size(flows) <= EACH_MOST)
            add(line, size, ui_digits(number, rate), " ");
    }
    if (json_array_size(flows) > EACH_MOST)
        snprintf(line, size, "%s to %s", ui_digits(number, low), ui_digits(most, high));
}

static double sum_of(const json_t *flows, const char *key)
{
    const json_t *flow;
    double sum = 0;
    size_t i;
    json_array_foreach(flows, i, flow) { sum += ui_member_number(flow, key); }
    return sum;
}

/* Cuts a line with many items to the room of a table. */
static void shorten(char *line, size_t size, size_t count)
{
    size_t length = strlen(line), cut = NAMES_COLUMNS;
    if (length <= NAMES_COLUMNS + 12)
        return;
    while (cut > 0 && line[cut] != ' ' && line[cut] != ',')
        cut--;
    snprintf(line + cut, size - cut, " ... %zu in all", count);
}

static void put_run(struct ui_table *table, const json_t *run, bool has_axes)
{
    const json_t *flows = json_object_get(run, "flows"),
                 *reproduced = json_object_get(run, "reproduced");
    char line[LINE_SIZE] = "", number[UI_NUMBER];
    name_flows(flows, line, sizeof line);
    shorten(line, sizeof line, json_array_size(flows));
    ui_cell(table, "%s", line);
    list_rates(flows, line, sizeof line);
    ui_cell(table, "%s", line);
    ui_cell(table, "%s", ui_rate(number, sum_of(flows, "bytes_per_s")));
    ui_cell(table, "%s%s",
            json_is_null(reproduced) ? "" : ui_rate(number, sum_of(flows, "predicted_bytes_per_s")),
            json_is_false(reproduced) ? " (not)" : "");
    name_axes(flows, line, sizeof line);
    if (has_axes)
        ui_cell(table, "%s", line);
}

#define LEAST_RANGE 0.001 /* of the rate: a smaller interval has equal ends as they are printed */

/* "157 GB/s (157 to 158) for 3, 164 GB/s for 4 and more" */
static void list_capacities(const json_t *capacities, char *line, size_t size)
{
    const json_t *capacity;
    size_t i, count = json_array_size(capacities);
    line[0] = '\0';
    json_array_foreach(capacities, i, capacity)
    {
        char one[160], rate[UI_NUMBER], low[UI_NUMBER], high[UI_NUMBER],
            from[48] = "", range[2 * UI_NUMBER + 8] = "";
        double least = ui_member_number(capacity, "low"), most = ui_member_number(capacity, "high");
        long long transfers = (long long)json_integer_value(json_object_get(capacity, "transfers"));
        if (most - least > LEAST_RANGE * most) /* false without both */
            snprintf(range, sizeof range, " (%s to %s)", ui_digits(low, least / 1e9),
                     ui_digits(high, most / 1e9));
        if (transfers > 1)
            snprintf(from, sizeof from, " for %lld%s", transfers,
                     i + 1 == count ? " and more" : "");
        snprintf(one, sizeof one, "%s%s%s",
                 ui_rate(rate, ui_member_number(capacity, "bytes_per_s")), range, from);
        add(line, size, one, ", ");
    }
}

/* True where the transfer stands in the list before that index too: one for each direction. */
static bool is_twice(const json_t *names, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (json_equal(json_array_get(names, i), json_array_get(names, index)))
            return true;
    return false;
}

static void join(const json_t *texts, struct ui *line)
{
    const json_t *text;
    size_t i;
    json_array_foreach(texts, i, text)
    {
        if (is_twice(texts, i))
            continue;
        ui_put(line, "%s", i > 0 ? ", " : "");
        ui_text(line, json_is_string(text) ? json_string_value(text) : "?");
    }
}

/* Lines of a limit: its capacity, its users, and the limits that it may be instead. */
static void put_limit(struct ui *ui, const json_t *limit)
{
    struct ui line = {.utf8 = ui->utf8, .width = ui->width};
    char capacity[LINE_SIZE];
    list_capacities(json_object_get(limit, "capacities"), capacity, sizeof capacity);
    ui_text(&line, ui_member(limit, "name"));
    ui_put(&line, ", %s: ", capacity);
    join(json_object_get(limit, "users"), &line);
    if (json_array_size(json_object_get(limit, "alternatives")) > 0) {
        ui_put(&line, "; or it is ");
        join(json_object_get(limit, "alternatives"), &line);
    }
    ui_pad(ui, 2);
    ui_paragraph(ui, 4, line.text == NULL ? "" : line.text);
    ui->failed = ui->failed || line.failed;
    ui_done(&line);
}

/* Limits of one metric, nothing where there are none; with why all, and their users. */
static void put_shared(struct ui *ui, const json_t *shared, const char *metric)
{
    const json_t *one;
    struct ui_table table;
    size_t count = 0, i;
    ui_table_begin(&table, ui, "ll");
    json_array_foreach(shared, i, one)
    {
        char line[LINE_SIZE];
        if (strcmp(ui_member(one, "metric"), metric) != 0)
            continue;
        if (ui->why) {
            put_limit(ui, one);
            continue;
        }
        if (count++ >= LIMITS_SHOWN)
            continue;
        if (count == 1) {
            ui_cell(&table, "shared");
            ui_cell(&table, "capacity");
        }
        ui_cell(&table, "%s", ui_member(one, "name"));
        list_capacities(json_object_get(one, "capacities"), line, sizeof line);
        ui_cell(&table, "%s", line);
    }
    ui_table_end(&table, 2, true);
    if (count > LIMITS_SHOWN)
        ui_put(ui, "  and %zu more limits\n", count - LIMITS_SHOWN);
}

/* True where every transfer of the metric's runs has the same axes. */
static bool has_one_kind(const json_t *runs, const char *metric)
{
    const json_t *run;
    char first[LINE_SIZE] = "", its[LINE_SIZE];
    bool is_first = true;
    size_t i;
    json_array_foreach(runs, i, run)
    {
        if (strcmp(ui_member(run, "metric"), metric) != 0)
            continue;
        name_axes(json_object_get(run, "flows"), is_first ? first : its, LINE_SIZE);
        if (!is_first && strcmp(first, its) != 0)
            return false;
        is_first = false;
    }
    return true;
}

/* Runs of one metric: all, or those that the limits do not explain. Returns how many are left out.
 */
static size_t put_runs(struct ui *ui, const json_t *runs, const char *metric, bool all)
{
    static const char *const heading[] = {"transfers", "each, GB/s", "together", "predicted",
                                          "axes"};
    const json_t *run;
    bool has_axes = !has_one_kind(runs, metric);
    size_t left = 0, shown = 0, i;
    struct ui_table table;
    ui_table_begin(&table, ui, has_axes ? "lrrll" : "lrrl");
    for (size_t k = 0; k < (has_axes ? 5 : 4); k++)
        ui_cell(&table, "%s", heading[k]);
    json_array_foreach(runs, i, run)
    {
        if (strcmp(ui_member(run, "metric"), metric) != 0)
            continue;
        if (all || json_is_false(json_object_get(run, "reproduced"))) {
            int64_t at_s = json_integer_value(json_object_get(run, "measured_at_s"));
            char when[UI_NUMBER];
            if (shown++ == 0)
                ui_put(ui, "  %s%s%s\n", all ? "Runs" : "Runs that no limit explains",
                       at_s > 0 ? ", measured " : "", at_s > 0 ? ui_when(when, at_s) : "");
            put_run(&table, run, has_axes);
        } else
            left++;
    }
    if (shown == 0)
        table.count = 0;
    ui_table_end(&table, 2, true);
    return left;
}

/* For each metric how many runs, how large, how many the limits reproduce; then its limits, and
 * with why its runs. Returns how many runs are left out of these. */
static size_t put_metrics(struct ui *ui, const json_t *runs, const json_t *shared)
{
    const json_t *run;
    const char *metric = "",
               *last = ui_member(json_array_get(runs, json_array_size(runs) - 1), "metric");
    bool is_one = strcmp(ui_member(json_array_get(runs, 0), "metric"), last) == 0;
    size_t left = 0, i;
    json_array_foreach(runs, i, run)
    {
        const char *its = ui_member(run, "metric");
        size_t most = 0, reproduced = 0, judged = 0, k;
        const json_t *other;
        if (i > 0 && strcmp(its, metric) == 0)
            continue;
        metric = its;
        json_array_foreach(runs, k, other)
        {
            const json_t *said = json_object_get(other, "reproduced");
            size_t size = json_array_size(json_object_get(other, "flows"));
            if (strcmp(ui_member(other, "metric"), its) != 0)
                continue;
            most = size > most ? size : most;
            reproduced += json_is_true(said);
            judged += json_is_boolean(said);
        }
        ui_line(ui, 2, "%s: %zu of %zu run%s explained, up to %zu at once", its, reproduced, judged,
                judged == 1 ? "" : "s", most);
        put_shared(ui, shared, its);
        left += ui->why ? put_runs(ui, runs, its, is_one) : 0;
    }
    return left;
}

/* The first line: of how many runs the rates follow from limits that transfers share. */
static void put_answer(struct ui *ui, const json_t *runs)
{
    const json_t *run;
    size_t reproduced = 0, judged = 0, i;
    json_array_foreach(runs, i, run)
    {
        const json_t *is_so = json_object_get(run, "reproduced");
        reproduced += json_is_true(is_so);
        judged += json_is_boolean(is_so);
    }
    ui_style(ui, UI_BOLD);
    ui_line(ui, 2, "%zu of %zu runs of concurrent transfers are explained by shared limits",
            reproduced, judged);
    ui_style(ui, UI_PLAIN);
}

void ui_contention(struct ui *ui, const json_t *reply)
{
    const json_t *runs = json_object_get(reply, "runs");
    if (json_array_size(runs) == 0) {
        ui_put(ui, "nothing was measured at the same time as something else\n");
        return;
    }
    put_answer(ui, runs);
    size_t left = put_metrics(ui, runs, json_object_get(reply, "shared"));
    if (!ui->why)
        ui_line(ui, 2, "--why lists the users of each limit, and the runs that no limit explains");
    else if (left > 0)
        ui_line(ui, 2,
                "the other runs follow from the limits; --why METRIC lists those of one metric");
    ui_basis(ui, ui_member(json_object_get(reply, "basis"), "origin"));
}
