/* Text of a reply of Check: verdict and findings. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "ui/answer.h"

static enum ui_style style_of(const char *word)
{
    static const struct {
        const char *word;
        enum ui_style style;
    } styles[] = {
        {"healthy", UI_GOOD}, {"degraded", UI_WARN}, {"unhealthy", UI_BAD},
        {"unknown", UI_DIM},  {"warning", UI_WARN},  {"critical", UI_BAD},
    };
    for (size_t i = 0; i < sizeof styles / sizeof styles[0]; i++)
        if (strcmp(word, styles[i].word) == 0)
            return styles[i].style;
    return UI_PLAIN;
}

#define SLOW_SHOWN 4
#define SLOW_WHY   10 /* likewise with --why on a terminal */

/* Prints the worst slow values that a finding explains. */
static void put_slow(struct ui *ui, const json_t *finding)
{
    const json_t *slow = json_object_get(finding, "slow");
    size_t all = (size_t)json_integer_value(json_object_get(finding, "explains")),
           count = json_array_size(slow),
           most = !ui->why          ? SLOW_SHOWN
                  : ui->is_terminal ? SLOW_WHY
                                    : SIZE_MAX;
    for (size_t i = 0; i < count && i < most; i++)
        ui_slow_value(ui, json_array_get(slow, i));
    most = most < count ? most : count;
    if (all > most && count > 0) {
        ui_pad(ui, 12);
        ui_put(ui, "and %zu more%s\n", all - most,
               ui->why && most < count ? " (--why | less shows them)" : "");
    }
}

/* Appends the arguments of berth history for the cell. */
static void put_cell(struct ui *line, const json_t *cell)
{
    const char *key;
    json_t *value;
    ui_put(line, "%s %s %s", ui_member(cell, "metric"), ui_member(cell, "from"),
           ui_member(cell, "to"));
    json_object_foreach(json_object_get(cell, "where"), key, value)
    {
        ui_put(line, " --where %s=%s", key, json_string_value(value));
    }
}

static void put_looks(struct ui *ui, const json_t *baseline)
{
    long long worse = (long long)json_integer_value(json_object_get(baseline, "worse_runs")),
              low = (long long)json_integer_value(json_object_get(baseline, "low_runs"));
    if (worse == 0)
        return;
    ui_pad(ui, 12);
    ui_put(ui, "looks: %lld in a row beyond that limit", worse);
    if (low > 0)
        ui_put(ui, ", %lld under 80 %%; three of those drain", low);
    ui_put(ui, "\n");
}

/* Prints the measurement behind a finding: value, expectation, looks, conditions. */
static void put_evidence(struct ui *ui, const json_t *finding)
{
    const json_t *cell = json_object_get(finding, "cell"),
                 *reply = json_object_get(finding, "baseline"),
                 *baseline = json_object_get(reply, "baseline");
    const char *unit = ui_member(finding, "unit"), *code = ui_member(finding, "code");
    int64_t at_s = json_integer_value(json_object_get(cell, "measured_at_s")),
            since_s = json_integer_value(json_object_get(finding, "since_s"));
    char number[UI_NUMBER], high[UI_NUMBER], when[UI_NUMBER], interval[2 * UI_NUMBER + 8];
    if (!json_is_object(cell))
        return;
    ui_interval(ui, cell, unit, interval, sizeof interval);
    ui_value(ui, number, ui_member_number(cell, "low"), unit);
    if (strcmp(number, ui_value(ui, high, ui_member_number(cell, "high"), unit)) == 0)
        interval[0] = '\0'; /* both ends round to one figure */
    ui_pad(ui, 12);
    ui_line(ui, 14, "measured %s%s%s%s%s%s",
            ui_value(ui, number, ui_member_number(finding, "value"), unit),
            *interval != '\0' ? " (" : "", interval, *interval != '\0' ? ")" : "",
            at_s > 0 ? ", " : "", at_s > 0 ? ui_when(when, at_s) : "");
    bool is_peers = strcmp(code, "slower-than-peers") == 0;
    if (is_peers || strcmp(code, "below-nominal") == 0) {
        ui_pad(ui, 12);
        ui_line(ui, 14, "expected %s: %s%s%s",
                ui_value(ui, number, ui_member_number(finding, "expected"), unit),
                is_peers ? "the median of its peers, by berth matrix "
                         : "the rate that firmware or the link states",
                is_peers ? ui_member(cell, "metric") : "", is_peers ? " --intervals" : "");
        ui_pad(ui, 12);
        ui_put(ui, "by its own past:\n  ");
    }
    ui_pad(ui, 12);
    ui_expected(ui, 14, reply);
    put_looks(ui, baseline);
    if (json_array_size(json_object_get(json_object_get(finding, "history"), "points")) == 0)
        return;
    if (since_s > 0)
        ui_changed_since(ui, 12, json_object_get(finding, "history"), since_s);
    struct ui call = {.utf8 = ui->utf8};
    put_cell(&call, cell);
    ui_pad(ui, 12);
    ui_line(ui, 14, "over time: berth history %s", call.text == NULL ? "" : call.text);
    ui->failed = ui->failed || call.failed;
    ui_done(&call);
}

/* Prints what to do, and each command in a line of its own, which is not broken: it is copied. */
static void put_action(struct ui *ui, const json_t *finding)
{
    const char *action = ui_member(finding, "action");
    const json_t *command;
    struct ui line = {.utf8 = ui->utf8};
    size_t i;
    if (*action == '\0')
        return;
    ui_put(&line, "do: ");
    ui_text(&line, action);
    ui_pad(ui, 12);
    ui_paragraph(ui, 14, line.text == NULL ? "" : line.text);
    json_array_foreach(json_object_get(finding, "commands"), i, command)
    {
        ui_pad(ui, 12);
        ui_text(ui, json_is_string(command) ? json_string_value(command) : "");
        ui_put(ui, "\n");
    }
    ui->failed = ui->failed || line.failed;
    ui_done(&line);
}

/* Returns the part of the finding's text that the reason has not said. */
static const char *unsaid(const char *reason, const json_t *finding)
{
    const char *text = ui_member(finding, "text"), *place = ui_member(finding, "place"),
               *said = strstr(reason, place);
    if (said == NULL || *place == '\0' || strncmp(said + strlen(place), ": ", 2) != 0)
        return text;
    said += strlen(place) + 2;
    if (strncmp(text, said, strlen(said)) != 0)
        return text;
    text += strlen(said);
    return text + strspn(text, ",; ");
}

/* Prints a finding, less what the reason has said of it, and its action unless the one before has
 * the same code. */
static void put_finding(struct ui *ui, const json_t *finding, const char *reason,
                        const json_t *before)
{
    const char *severity = ui_member(finding, "severity"), *unit = ui_member(finding, "unit");
    const json_t *value = json_object_get(finding, "value"),
                 *expected = json_object_get(finding, "expected");
    char number[UI_NUMBER], other[UI_NUMBER], when[UI_NUMBER];
    struct ui line = {.utf8 = ui->utf8, .width = ui->width};
    const char *text = unsaid(reason, finding);
    ui_text(&line, ui_member(finding, "place"));
    ui_put(&line, "%s", *text != '\0' ? ": " : "");
    ui_text(&line, text);
    if (!json_is_object(json_object_get(finding, "cell")) && json_is_number(value) &&
        json_is_number(expected))
        ui_put(&line, " (%s, expected %s)", ui_value(ui, number, json_number_value(value), unit),
               ui_value(ui, other, json_number_value(expected), unit));
    ui_put(&line, " [");
    ui_text(&line, ui_member(finding, "code"));
    ui_put(&line, "]");
    if (json_integer_value(json_object_get(finding, "since_s")) > 0)
        ui_put(&line, " since %s",
               ui_when(when, json_integer_value(json_object_get(finding, "since_s"))));
    ui_put(ui, "  ");
    ui_style(ui, style_of(severity));
    ui_text(ui, severity);
    ui_style(ui, UI_PLAIN);
    ui_pad(ui, 10 - ui_columns(severity));
    ui_paragraph(ui, 12, line.text == NULL ? "" : line.text);
    put_slow(ui, finding);
    if (strcmp(ui_member(finding, "code"), ui_member(before, "code")) != 0)
        put_action(ui, finding);
    if (ui->why)
        put_evidence(ui, finding);
    ui->failed = ui->failed || line.failed;
    ui_done(&line);
}

/* Prints the values that a second measurement is to confirm. */
static void put_unconfirmed(struct ui *ui, const json_t *unconfirmed)
{
    const json_t *finding;
    char when[UI_NUMBER];
    size_t i;
    json_array_foreach(unconfirmed, i, finding)
    {
        struct ui line = {.utf8 = ui->utf8, .width = ui->width};
        ui_text(&line, ui_member(finding, "place"));
        ui_put(&line, ": ");
        ui_text(&line, ui_member(finding, "text"));
        int64_t since_s = json_integer_value(json_object_get(finding, "since_s"));
        if (since_s > 0)
            ui_put(&line, ", at %s", ui_when(when, since_s));
        ui_put(&line, "; no finding yet");
        ui_put(ui, "  seen once ");
        ui_paragraph(ui, 12, line.text == NULL ? "" : line.text);
        ui_pad(ui, 12);
        ui_line(
            ui, 14,
            "do: wait until berthd has measured it again, or berth probe two minutes after that");
        ui->failed = ui->failed || line.failed;
        ui_done(&line);
        if (ui->why)
            put_evidence(ui, finding);
    }
}

void ui_verdict(struct ui *ui, const json_t *reply)
{
    const char *verdict = ui_member(reply, "verdict"), *reason = ui_member(reply, "reason");
    const json_t *findings = json_object_get(reply, "findings"), *finding;
    size_t i;
    /* The reason begins with the verdict. */
    ui_style(ui, style_of(verdict));
    reason = *reason != '\0' ? reason : verdict;
    if (ui->is_terminal) {
        ui_paragraph(ui, 2, reason);
    } else { /* a script takes the first line */
        ui_text(ui, reason);
        ui_put(ui, "\n");
    }
    ui_style(ui, UI_PLAIN);
    if (json_is_true(json_object_get(reply, "drain")))
        ui_put(ui, "berth advises to drain this node\n");
    json_array_foreach(findings, i, finding)
    {
        put_finding(ui, finding, i > 0 ? "" : reason,
                    i > 0 ? json_array_get(findings, i - 1) : NULL);
    }
}

/* True where a finding is about values. */
static bool has_values(const json_t *findings)
{
    const json_t *finding;
    size_t i;
    bool is_any = false;
    json_array_foreach(findings, i, finding)
    {
        is_any = is_any || json_is_object(json_object_get(finding, "cell")) ||
                 json_array_size(json_object_get(finding, "slow")) > 0;
    }
    return is_any;
}

void ui_health(struct ui *ui, const json_t *reply)
{
    char when[UI_NUMBER];
    ui_verdict(ui, reply);
    put_unconfirmed(ui, json_object_get(reply, "unconfirmed"));
    bool has_past = strcmp(ui_member(reply, "origin"), "live") == 0 ||
                    strcmp(ui_member(reply, "origin"), "standin") == 0;
    if (ui->why && has_past && has_values(json_object_get(reply, "findings")))
        ui_put(ui, "every slow value by itself: berth history --all\n");
    int64_t at_s = json_integer_value(json_object_get(reply, "last_probe_at_s"));
    bool is_sound = at_s > 0 && json_array_size(json_object_get(reply, "findings")) == 0 &&
                    json_array_size(json_object_get(reply, "unconfirmed")) == 0;
    if (ui->why && is_sound)
        ui_put(ui, "no finding, so no evidence; berth matrix METRIC --intervals has the values\n");
    ui_style(ui, UI_DIM);
    bool is_unknown = strcmp(ui_member(reply, "verdict"), "unknown") == 0;
    if (at_s > 0)
        ui_put(ui, "%slast measured %s\n", is_unknown ? "the node was " : "", ui_when(when, at_s));
    else if (strcmp(ui_member(reply, "origin"), "live") == 0)
        ui_put(ui, "never measured; berth probe measures\n");
    ui_style(ui, UI_PLAIN);
    ui_basis(ui, ui_member(reply, "origin"));
}
