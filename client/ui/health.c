/* Text of a reply of Check: verdict and findings. */
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

const char *ui_action_of(const char *code)
{
    static const struct {
        const char *code, *action;
    } actions[] = {
#define FINDING(code, action) {code, action},
#include "findings.def"
#undef FINDING
    };
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++)
        if (strcmp(code, actions[i].code) == 0)
            return actions[i].action;
    return NULL;
}

#define SLOW_SHOWN 4

/* Prints the worst slow values that a finding explains. */
static void put_slow(struct ui *ui, const json_t *finding)
{
    const json_t *slow = json_object_get(finding, "slow");
    size_t all = (size_t)json_integer_value(json_object_get(finding, "explains")),
           count = json_array_size(slow);
    char number[UI_NUMBER], other[UI_NUMBER];
    for (size_t i = 0; i < count && i < SLOW_SHOWN; i++) {
        const json_t *one = json_array_get(slow, i);
        const char *unit = ui_member(one, "unit");
        ui_pad(ui, 12);
        ui_line(ui, 14, "%s: %s, expected %s", ui_member(one, "series"),
                ui_value(ui, number, json_number_value(json_object_get(one, "value")), unit),
                ui_value(ui, other, json_number_value(json_object_get(one, "expected")), unit));
    }
    if (all > SLOW_SHOWN && count > 0) {
        ui_pad(ui, 12);
        ui_put(ui, "and %zu more\n", all - (count < SLOW_SHOWN ? count : SLOW_SHOWN));
    }
}

/* Prints a finding, and its action unless the one before has the same. */
static void put_finding(struct ui *ui, const json_t *finding, const json_t *before)
{
    const char *severity = ui_member(finding, "severity"), *unit = ui_member(finding, "unit");
    const json_t *value = json_object_get(finding, "value"),
                 *expected = json_object_get(finding, "expected");
    char number[UI_NUMBER], other[UI_NUMBER], when[UI_NUMBER];
    struct ui line = {.utf8 = ui->utf8, .width = ui->width};
    ui_text(&line, ui_member(finding, "place"));
    ui_put(&line, ": ");
    ui_text(&line, ui_member(finding, "text"));
    if (json_is_number(value) && json_is_number(expected) &&
        strstr(ui_member(finding, "text"), ui_value(ui, number, json_number_value(value), unit)) ==
            NULL)
        ui_put(&line, " (%s, expected %s)", number,
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
    const char *code = ui_member(finding, "code"), *action = ui_action_of(code);
    if (action != NULL && strcmp(code, ui_member(before, "code")) != 0) {
        ui_pad(ui, 12);
        ui_line(ui, 14, "do: %s", action);
    }
    ui->failed = ui->failed || line.failed;
    ui_done(&line);
}

/* Prints the values that a second measurement is to confirm. */
static void put_unconfirmed(struct ui *ui, const json_t *unconfirmed)
{
    const json_t *finding;
    size_t i;
    json_array_foreach(unconfirmed, i, finding)
    {
        struct ui line = {.utf8 = ui->utf8, .width = ui->width};
        ui_text(&line, ui_member(finding, "place"));
        ui_put(&line, ": ");
        ui_text(&line, ui_member(finding, "text"));
        ui_put(&line, "; measured again soon, no finding yet");
        ui_put(ui, "  seen once  ");
        ui_paragraph(ui, 12, line.text == NULL ? "" : line.text);
        ui->failed = ui->failed || line.failed;
        ui_done(&line);
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
        put_finding(ui, finding, i > 0 ? json_array_get(findings, i - 1) : NULL);
    }
}

void ui_health(struct ui *ui, const json_t *reply)
{
    char when[UI_NUMBER];
    ui_verdict(ui, reply);
    put_unconfirmed(ui, json_object_get(reply, "unconfirmed"));
    int64_t at_s = json_integer_value(json_object_get(reply, "last_probe_at_s"));
    ui_style(ui, UI_DIM);
    if (at_s > 0)
        ui_put(ui, "last measured %s\n", ui_when(when, at_s));
    else
        ui_put(ui, "never measured%s\n",
               strcmp(ui_member(reply, "origin"), "live") == 0 ? "; berth probe measures" : "");
    ui_style(ui, UI_PLAIN);
    ui_basis(ui, ui_member(reply, "origin"));
}
