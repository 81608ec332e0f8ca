/* The answer for a person. */
#include <math.h>
#include <string.h>

#include "fleet/fleet.h"
#include "fleet/words.h"
#include "ui/answer.h"

#define FIRST_NODES 3
#define NAME_MOST   56 /* columns of a node's name */
#define NAME_BEGIN  20 /* of a longer one: columns before its middle */
#define NAME_BYTES  256
#define ROWS        12 /* of each table without ui->why */

const char *fleet_count(char buffer[FLEET_WORD], json_int_t count)
{
    char digits[24];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%lld", (long long)count), at = 0;
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            buffer[at++] = ',';
        buffer[at++] = digits[i];
    }
    buffer[at] = '\0';
    return buffer;
}

const char *fleet_percent(char buffer[FLEET_WORD], double loss)
{
    double percent = -100 * loss;
    snprintf(buffer, FLEET_WORD, "%+.*f %%", fabs(percent) < 9.95 ? 1 : 0, percent);
    return buffer;
}

void fleet_where(char buffer[FLEET_WORD], const json_t *item)
{
    const char *metric = ui_member(item, "metric"), *from = ui_member(item, "from"),
               *to = ui_member(item, "to");
    bool both = json_is_true(json_object_get(item, "both_ways"));
    if (*from == '\0')
        snprintf(buffer, FLEET_WORD, "%s", *metric == '\0' ? "all" : metric);
    else if (*to == '\0')
        snprintf(buffer, FLEET_WORD, "%s%s%s", from, *metric != '\0' ? " " : "", metric);
    else if (strcmp(from, to) == 0)
        snprintf(buffer, FLEET_WORD, "%s", from);
    else
        snprintf(buffer, FLEET_WORD, "%s%s%s", from, both ? "-" : ">", to);
}

void fleet_what(char buffer[FLEET_WORD], const json_t *item)
{
    const char *metric = ui_member(item, "metric"), *key;
    json_int_t series = json_integer_value(json_object_get(item, "series"));
    json_t *value, *axes = json_object_get(item, "axes");
    if (series != 1) {
        snprintf(buffer, FLEET_WORD, "%lld series", (long long)series);
        return;
    }
    size_t length = (size_t)snprintf(buffer, FLEET_WORD, "%s", metric);
    json_object_foreach(axes, key, value) if (length < FLEET_WORD) length += (size_t)snprintf(
        buffer + length, FLEET_WORD - length, " %s=%s", key, json_string_value(value));
}

void fleet_part(char buffer[FLEET_WORD], const json_t *class)
{
    const json_t *with = json_object_get(class, "with"),
                 *part = with != NULL ? with : json_object_get(class, "without");
    buffer[0] = '\0';
    if (part != NULL)
        snprintf(buffer, FLEET_WORD, ", %s %s %s", with != NULL ? "with" : "without",
                 ui_member(part, "condition"), ui_member(part, "value"));
}

/* Returns the text behind that many of its columns. */
static const char *behind(const char *text, int columns)
{
    for (; columns > 0; columns--)
        do
            text++;
        while (((unsigned char)*text & 0xc0) == 0x80);
    return text;
}

/* Writes a node's name without the middle of a long one, which has a path, and returns it. */
static const char *short_name(char buffer[NAME_BYTES], const json_t *node)
{
    const char *name = ui_member(node, "node");
    int columns = ui_columns(name), end = NAME_MOST - NAME_BEGIN - 3;
    if (columns <= NAME_MOST)
        return name;
    snprintf(buffer, NAME_BYTES, "%.*s...%s", (int)(behind(name, NAME_BEGIN) - name), name,
             behind(name, columns - end));
    return buffer;
}

/* Writes the answer in one sentence, with the worst nodes as far as a line has room. */
void fleet_first_line(struct ui *ui, const json_t *answer)
{
    const json_t *slow = json_object_get(answer, "slow"), *shared, *node;
    char count[FLEET_WORD], of[FLEET_WORD], where[FLEET_WORD], loss[FLEET_WORD], name[NAME_BYTES];
    size_t i, nodes = json_array_size(slow);
    json_int_t all = json_integer_value(json_object_get(answer, "nodes")),
               compared = json_integer_value(json_object_get(answer, "compared"));
    if (compared == 0) {
        ui_put(ui, "Nothing is compared: %s node%s, and of no hardware at least 5",
               fleet_count(of, all), all == 1 ? "" : "s");
        return;
    }
    if (nodes == 0) {
        ui_put(ui, "None of %s nodes is slow", fleet_count(of, compared));
        return;
    }
    ui_put(ui, "%s of %s nodes %s slow", fleet_count(count, (json_int_t)nodes),
           fleet_count(of, compared), nodes == 1 ? "is" : "are");
    shared = json_array_get(json_object_get(answer, "shared"), 0);
    if (json_integer_value(json_object_get(shared, "slow_with")) * 2 > (json_int_t)nodes) {
        ui_put(ui, ", %s with ",
               fleet_count(count, json_integer_value(json_object_get(shared, "slow_with"))));
        ui_text(ui, ui_member(shared, "condition"));
        ui_put(ui, " ");
        ui_text(ui, ui_member(shared, "value"));
    }
    json_array_foreach(slow, i, node)
    {
        const json_t *worst = json_object_get(node, "worst");
        if (i == FIRST_NODES)
            break;
        fleet_where(where, worst);
        ui_put(ui, "%s", i == 0 ? ": " : ", ");
        ui_text(ui, short_name(name, node));
        ui_put(ui, " ");
        ui_text(ui, where);
        ui_put(ui, " %s", fleet_percent(loss, ui_member_number(worst, "loss")));
    }
    if (nodes > FIRST_NODES)
        ui_put(ui, ", ...");
}

void fleet_shared_line(struct ui *ui, const json_t *shared)
{
    char one[FLEET_WORD], other[FLEET_WORD], third[FLEET_WORD], loss[FLEET_WORD];
    const json_t *slower = json_object_get(shared, "slower");
    json_int_t slow_with = json_integer_value(json_object_get(shared, "slow_with"));
    ui_text(ui, ui_member(shared, "condition"));
    ui_put(ui, " ");
    ui_text(ui, ui_member(shared, "value"));
    ui_put(ui, ": %s of its %s nodes %s slow, of all %s it is %s", fleet_count(one, slow_with),
           fleet_count(other, json_integer_value(json_object_get(shared, "with"))),
           slow_with == 1 ? "is" : "are",
           fleet_count(third, json_integer_value(json_object_get(shared, "nodes"))),
           fleet_count(loss, json_integer_value(json_object_get(shared, "slow"))));
    if (json_is_object(slower))
        ui_put(ui, "; %s is %s beside the others",
               *ui_member(slower, "metric") != '\0' ? ui_member(slower, "metric") : "all",
               fleet_percent(loss, ui_member_number(slower, "loss")));
}

/* Writes a line that wraps at the width. */
static void put_line(struct ui *ui, void (*put)(struct ui *ui, const json_t *json),
                     const json_t *json)
{
    struct ui line = {.utf8 = ui->utf8};
    put(&line, json);
    ui->failed = ui->failed || line.failed;
    ui_paragraph(ui, 2, line.text != NULL ? line.text : "");
    ui_done(&line);
}

static void put_slow(struct ui *ui, const json_t *slow)
{
    struct ui_table table;
    const json_t *node;
    size_t i;
    char where[FLEET_WORD], what[FLEET_WORD], loss[FLEET_WORD], low[FLEET_WORD], high[FLEET_WORD],
        interval[2 * FLEET_WORD + 8], name[NAME_BYTES];
    ui_put(ui, "\n");
    ui_table_begin(&table, ui, "llrll");
    ui_cell(&table, "node");
    ui_cell(&table, "where");
    ui_cell(&table, "speed");
    ui_cell(&table, "95 %%");
    ui_cell(&table, "in");
    json_array_foreach(slow, i, node)
    {
        const json_t *worst = json_object_get(node, "worst");
        if (i == ROWS && !ui->why)
            break;
        fleet_where(where, worst);
        fleet_what(what, worst);
        snprintf(interval, sizeof interval, "%s to %s",
                 fleet_percent(high, ui_member_number(worst, "high")),
                 fleet_percent(low, ui_member_number(worst, "low")));
        ui_cell(&table, "%s", short_name(name, node));
        ui_cell(&table, "%s", where);
        ui_cell(&table, "%s", fleet_percent(loss, ui_member_number(worst, "loss")));
        ui_cell(&table, "%s", interval);
        ui_cell(&table, "%s", what);
    }
    ui_table_end(&table, 0, true);
    if (json_array_size(slow) > ROWS && !ui->why)
        ui_put(ui, "and %s others; --why has all\n",
               fleet_count(where, (json_int_t)json_array_size(slow) - ROWS));
}

/* The worst series of each slow node, with its value. */
static void put_evidence(struct ui *ui, const json_t *slow)
{
    const json_t *node;
    size_t i;
    char where[FLEET_WORD], what[FLEET_WORD], value[UI_NUMBER], of_class[UI_NUMBER],
        name[NAME_BYTES];
    ui_put(ui, "\nThe worst single series of each:\n");
    json_array_foreach(slow, i, node)
    {
        const json_t *series = json_object_get(node, "worst_series");
        if (!json_is_object(series)) {
            ui_line(ui, 2, "%s: none alone is beyond chance", short_name(name, node));
            continue;
        }
        fleet_where(where, series);
        fleet_what(what, series);
        const char *unit = ui_member(series, "unit");
        ui_value(ui, value, ui_member_number(series, "value"), unit);
        ui_value(ui, of_class, ui_member_number(series, "class_value"), unit);
        ui_line(ui, 2,
                "%s %s %s: %s, its class %s, %.1f deviations; chance for all its series %.1g",
                short_name(name, node), where, what, value, of_class,
                ui_member_number(series, "deviations"), ui_member_number(node, "p"));
    }
}

static void put_classes(struct ui *ui, const json_t *classes)
{
    struct ui_table table;
    const json_t *class;
    size_t i;
    char word[FLEET_WORD], part[FLEET_WORD];
    ui_put(ui, "\n");
    ui_table_begin(&table, ui, "lrrrl");
    ui_cell(&table, "hardware");
    ui_cell(&table, "nodes");
    ui_cell(&table, "slow");
    ui_cell(&table, "series");
    ui_cell(&table, "models");
    json_array_foreach(classes, i, class)
    {
        bool is_compared = json_is_true(json_object_get(class, "compared"));
        if (i == ROWS && !ui->why)
            break;
        const char *fingerprint = ui_member(class, "fingerprint");
        ui_cell(&table, "%.8s", *fingerprint != '\0' ? fingerprint : "unknown");
        ui_cell(&table, "%s",
                fleet_count(word, json_integer_value(json_object_get(class, "nodes"))));
        ui_cell(&table, "%s",
                is_compared ? fleet_count(word, json_integer_value(json_object_get(class, "slow")))
                            : "too few");
        ui_cell(&table, "%s",
                fleet_count(word, json_integer_value(json_object_get(class, "series"))));
        fleet_part(part, class);
        ui_cell(&table, "%s%s", ui_member(class, "models"), part);
    }
    ui_table_end(&table, 0, true);
    if (json_array_size(classes) > ROWS && !ui->why)
        ui_put(ui, "and %s other classes; --why has all\n",
               fleet_count(word, (json_int_t)json_array_size(classes) - ROWS));
}

void fleet_text(struct ui *ui, const json_t *answer)
{
    const json_t *slow = json_object_get(answer, "slow"),
                 *shared = json_object_get(answer, "shared"), *one;
    size_t i;
    put_line(ui, fleet_first_line, answer);
    if (json_array_size(slow) > 0)
        put_slow(ui, slow);
    if (json_array_size(shared) > 0)
        ui_put(ui, "\n");
    json_array_foreach(shared, i, one)
    {
        if (i == ROWS / 2 && !ui->why)
            break;
        put_line(ui, fleet_shared_line, one);
    }
    if (ui->why && json_array_size(slow) > 0)
        put_evidence(ui, slow);
    put_classes(ui, json_object_get(answer, "classes"));
    if (ui->why)
        ui_line(ui, 0,
                "Speed against the median of equal hardware; a time counts as its inverse. A node "
                "is slow when it loses at least %g %%, beyond chance: of all that are named, %g %% "
                "are expected to be named wrongly.",
                100 * ui_member_number(answer, "least_loss"),
                100 * ui_member_number(answer, "false_rate"));
}
