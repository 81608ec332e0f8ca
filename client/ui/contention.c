/* GetContention as text for a person: a line for each concurrent run, and the limits that the runs
 * show to be shared. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/answer.h"

#define LIMITS_SHOWN  4 /* of a metric */
#define LINE_SIZE     512
#define EACH_MOST     8  /* most rates in a list */
#define NAMES_COLUMNS 40 /* columns of the transfers' names */

/* Appends text; cut where it does not fit. */
static void add(char *line, size_t size, const char *text, const char *separator)
{
    size_t used = strlen(line);
    snprintf(line + used, size - used, "%s%s", used > 0 ? separator : "", text);
}

/* Common end of all flows at key; NULL when they differ. */
static const char *common_end(const json_t *flows, const char *key)
{
    const json_t *flow;
    const char *common = NULL;
    size_t i;
    json_array_foreach(flows, i, flow)
    {
        const char *end = ui_member(flow, key);
        if (common != NULL && strcmp(common, end) != 0)
            return NULL;
        common = end;
    }
    return common;
}

/* "gpu0,gpu1>numa0", "numa0>gpu0,gpu1", or "gpu0>gpu1 gpu2>gpu3". */
static void name_flows(const json_t *flows, char *line, size_t size)
{
    const char *from = common_end(flows, "from"), *to = common_end(flows, "to");
    const json_t *flow;
    char pair[128];
    size_t i;
    line[0] = '\0';
    if (from != NULL && to == NULL)
        snprintf(line, size, "%s>", from);
    json_array_foreach(flows, i, flow)
    {
        if (to != NULL)
            add(line, size, ui_member(flow, "from"), ",");
        else if (from != NULL)
            add(line, size, ui_member(flow, "to"), i > 0 ? "," : "");
        else {
            snprintf(pair, sizeof pair, "%s>%s", ui_member(flow, "from"), ui_member(flow, "to"));
            add(line, size, pair, " ");
        }
    }
    if (to != NULL) {
        snprintf(pair, sizeof pair, ">%s", to);
        add(line, size, pair, "");
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

static void put_run(struct ui_table *table, const json_t *run)
{
    const json_t *flows = json_object_get(run, "flows"),
                 *reproduced = json_object_get(run, "reproduced");
    char line[LINE_SIZE] = "", number[UI_NUMBER];
    name_flows(flows, line, sizeof line);
    shorten(line, sizeof line, json_array_size(flows));
    ui_cell(table, "%s", line);
    name_axes(flows, line, sizeof line);
    ui_cell(table, "%s", line);
    list_rates(flows, line, sizeof line);
    ui_cell(table, "%s", line);
    ui_cell(table, "%s", ui_rate(number, sum_of(flows, "bytes_per_s")));
    ui_cell(table, "%s%s",
            json_is_null(reproduced) ? "" : ui_rate(number, sum_of(flows, "predicted_bytes_per_s")),
            json_is_false(reproduced) ? " (not)" : "");
    ui_cell(table, "%s",
            ui_when(number, json_integer_value(json_object_get(run, "measured_at_s"))));
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

static void join(const json_t *texts, char *line, size_t size)
{
    const json_t *text;
    size_t i;
    line[0] = '\0';
    json_array_foreach(texts, i, text)
    {
        add(line, size, json_is_string(text) ? json_string_value(text) : "?", " ");
    }
}

/* Limits of one metric, nothing where there are none; with why their alternatives and users, too.
 */
static void put_shared(struct ui *ui, const json_t *shared, const char *metric)
{
    static const char *const heading[] = {"shared", "capacity", "alternatives", "users"};
    const json_t *one;
    struct ui_table table;
    size_t count = 0, i;
    json_array_foreach(shared, i, one) count += strcmp(ui_member(one, "metric"), metric) == 0;
    if (count == 0)
        return;
    count = 0;
    ui_table_begin(&table, ui, ui->why ? "llll" : "ll");
    for (i = 0; i < (ui->why ? 4 : 2); i++)
        ui_cell(&table, "%s", heading[i]);
    json_array_foreach(shared, i, one)
    {
        char line[LINE_SIZE];
        if (strcmp(ui_member(one, "metric"), metric) != 0 || (count++ >= LIMITS_SHOWN && !ui->why))
            continue;
        ui_cell(&table, "%s", ui_member(one, "name"));
        list_capacities(json_object_get(one, "capacities"), line, sizeof line);
        ui_cell(&table, "%s", line);
        if (!ui->why)
            continue;
        join(json_object_get(one, "alternatives"), line, sizeof line);
        ui_cell(&table, "%s", line);
        join(json_object_get(one, "users"), line, sizeof line);
        ui_cell(&table, "%s", line);
    }
    ui_table_end(&table, 2, true);
    if (!ui->why && count > LIMITS_SHOWN)
        ui_put(ui, "  and %zu more limits\n", count - LIMITS_SHOWN);
}

/* For each metric how many runs, how large, how many the limits reproduce; then its limits. */
static void put_metrics(struct ui *ui, const json_t *runs, const json_t *shared)
{
    const json_t *run;
    const char *metric = "";
    size_t i;
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
    }
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

static void put_runs(struct ui *ui, const json_t *runs)
{
    static const char *const heading[] = {"transfers", "axes",      "each, GB/s",
                                          "together",  "predicted", "measured"};
    const char *metric = "";
    const json_t *run;
    struct ui_table table = {0};
    size_t i;
    json_array_foreach(runs, i, run)
    {
        const char *its = ui_member(run, "metric");
        if (i == 0 || strcmp(its, metric) != 0) {
            if (i > 0)
                ui_table_end(&table, 2, true);
            ui_put(ui, "\n");
            ui_style(ui, UI_BOLD);
            ui_text(ui, its);
            ui_style(ui, UI_PLAIN);
            ui_put(ui, "\n");
            ui_table_begin(&table, ui, "lllrrl");
            for (size_t k = 0; k < sizeof heading / sizeof *heading; k++)
                ui_cell(&table, "%s", heading[k]);
        }
        metric = its;
        put_run(&table, run);
    }
    if (i > 0)
        ui_table_end(&table, 2, true);
}

void ui_contention(struct ui *ui, const json_t *reply)
{
    const json_t *runs = json_object_get(reply, "runs");
    if (json_array_size(runs) == 0) {
        ui_put(ui, "nothing was measured at the same time as something else\n");
        return;
    }
    put_answer(ui, runs);
    put_metrics(ui, runs, json_object_get(reply, "shared"));
    if (ui->why)
        put_runs(ui, runs);
    else
        ui_put(ui, "--why lists the runs, and the users of each limit\n");
    ui_basis(ui, ui_member(json_object_get(reply, "basis"), "origin"));
}
