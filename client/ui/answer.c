#include "ui/answer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVIDENCE_MOST  8
#define LEAST_START_NS 1000 /* no transfer between devices starts and ends in less */

const char *ui_member(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

bool ui_lists(const json_t *array, const char *text)
{
    const json_t *item;
    size_t i;
    json_array_foreach(array, i, item)
    {
        if (json_is_string(item) && strcmp(json_string_value(item), text) == 0)
            return true;
    }
    return false;
}

double ui_member_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* Omits an interval whose bounds round to one figure. */
static void put_interval(struct ui *ui, const char *low, const char *high)
{
    if (strcmp(low, high) != 0)
        ui_put(ui, " (%s to %s)", low, high);
}

/* The names are those of the interface, with spaces. */
static void put_source(struct ui *ui, const char *source)
{
    char words[32];
    snprintf(words, sizeof words, "%s", source);
    for (char *c = words; *c != '\0'; c++)
        *c = *c == '_' ? ' ' : *c;
    ui_put(ui, " (");
    ui_text(ui, words);
    ui_put(ui, ")");
}

bool ui_is_unmeasured(const json_t *prediction)
{
    return strcmp(ui_member(prediction, "source"), "lower_bound") == 0 &&
           ui_member_number(prediction, "time_ns") < LEAST_START_NS;
}

static void put_prediction(struct ui *ui, const json_t *prediction, bool is_short)
{
    char time[UI_NUMBER], low[UI_NUMBER], high[UI_NUMBER];
    double time_ns = ui_member_number(prediction, "time_ns"),
           low_ns = ui_member_number(prediction, "low_ns"),
           high_ns = ui_member_number(prediction, "high_ns");
    if (isnan(time_ns) || ui_is_unmeasured(prediction)) {
        ui_put(ui, isnan(time_ns) ? "not predicted"
                   : is_short     ? "not measured"
                                  : "the time of so few bytes was not measured");
        return;
    }
    ui_put(ui, "%s%s", !isnan(low_ns) && isnan(high_ns) ? "at least " : "",
           ui_time(ui, time, time_ns));
    if (!is_short && !isnan(low_ns) && !isnan(high_ns))
        put_interval(ui, ui_time(ui, low, low_ns), ui_time(ui, high, high_ns));
    if (strcmp(ui_member(prediction, "source"), "measured") != 0)
        put_source(ui, ui_member(prediction, "source"));
    const json_t *correction = json_object_get(prediction, "correction");
    if (json_is_object(correction))
        ui_put(ui, " (%.0f reports, factor %.2f)", ui_member_number(correction, "reports"),
               ui_member_number(correction, "factor"));
}

void ui_prediction(struct ui *ui, const json_t *prediction)
{
    put_prediction(ui, prediction, false);
}

void ui_prediction_short(struct ui *ui, const json_t *prediction)
{
    put_prediction(ui, prediction, true);
}

static void put_axes(struct ui *line, const json_t *axes)
{
    const char *key, *separator = " with ";
    const json_t *value;
    json_object_foreach((json_t *)(uintptr_t)axes, key, value)
    {
        if (json_is_string(value) && strcmp(json_string_value(value), "-") == 0)
            continue; /* the axis does not apply */
        ui_put(line, "%s", separator);
        ui_text(line, key);
        ui_put(line, "=");
        ui_text(line, json_is_string(value) ? json_string_value(value) : "?");
        separator = ", ";
    }
}

static void put_one(struct ui *ui, const json_t *item)
{
    struct ui line = {.utf8 = ui->utf8, .width = ui->width};
    char value[UI_NUMBER], low[UI_NUMBER], high[UI_NUMBER], when[UI_NUMBER];
    const char *unit = ui_member(item, "unit"), *from = ui_member(item, "from"),
               *to = ui_member(item, "to"), *source = ui_member(item, "source");
    const json_t *at = json_object_get(item, "measured_at_s");
    ui_text(&line, ui_member(item, "metric"));
    ui_put(&line, " ");
    ui_text(&line, from);
    ui_put(&line, "%s", strcmp(from, to) == 0 ? "" : ui->utf8 ? " \u2192 " : " to ");
    ui_text(&line, strcmp(from, to) == 0 ? "" : to);
    put_axes(&line, json_object_get(item, "axes"));
    ui_put(&line, ": %s", ui_value(ui, value, ui_member_number(item, "value"), unit));
    if (!isnan(ui_member_number(item, "low")) && !isnan(ui_member_number(item, "high")))
        put_interval(&line, ui_value(ui, low, ui_member_number(item, "low"), unit),
                     ui_value(ui, high, ui_member_number(item, "high"), unit));
    ui_put(&line, ", ");
    ui_text(&line, source);
    if (json_integer_value(at) > 0)
        ui_put(&line, " %s", ui_when(when, json_integer_value(at)));
    if (json_array_size(json_object_get(item, "flows")) > 0)
        ui_put(&line, ", with %zu transfers at once",
               json_array_size(json_object_get(item, "flows")));
    ui_put(ui, "  ");
    ui_paragraph(ui, 4, line.text == NULL ? "" : line.text);
    ui->failed = ui->failed || line.failed;
    ui_done(&line);
}

void ui_evidence(struct ui *ui, const json_t *evidence)
{
    size_t i;
    const json_t *item;
    if (json_array_size(evidence) == 0)
        return;
    ui_put(ui, "\n");
    ui_style(ui, UI_BOLD);
    ui_put(ui, "Evidence\n");
    ui_style(ui, UI_PLAIN);
    json_array_foreach(evidence, i, item)
    {
        if (i == EVIDENCE_MOST) {
            ui_put(ui, "  and %zu more (--json has them)\n", json_array_size(evidence) - i);
            return;
        }
        put_one(ui, item);
    }
}

const char *ui_reason_text(const json_t *reason)
{
    const char *text = json_string_value(json_object_get(reason, "text"));
    return text != NULL ? text : "?";
}

bool ui_reason_is(const json_t *reason, const char *code)
{
    const char *its = json_string_value(json_object_get(reason, "code"));
    return its != NULL && strcmp(its, code) == 0;
}

bool ui_is_alternative(const json_t *reason)
{
    return ui_reason_is(reason, "other-mechanism") ||
           ui_reason_is(reason, "other-mechanism-behind");
}

void ui_reasons(struct ui *ui, const json_t *reasons)
{
    size_t i;
    const json_t *reason;
    const char *heading = "\nDecided by\n";
    json_array_foreach(reasons, i, reason)
    {
        if (ui_is_alternative(reason))
            continue;
        ui_put(ui, "%s  ", heading);
        ui_paragraph(ui, 4, ui_reason_text(reason));
        heading = "";
    }
}

/* Text of a subject of a note; "" none. */
static const char *subject_of(const json_t *note, size_t index)
{
    const char *text = json_string_value(json_array_get(json_object_get(note, "subjects"), index));
    return text == NULL ? "" : text;
}

/* True for codes whose first two subjects are the ends of a transfer (schema/reasons.def). */
static bool is_of_pair(const json_t *note)
{
    static const char *const codes[] = {"rate-not-measured", "start-not-measured",
                                        "size-not-measured", "similar-pair"};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (ui_reason_is(note, codes[i]))
            return true;
    return false;
}

/* True for two notes that differ in the ends of the transfer alone. */
static bool is_same_note(const json_t *a, const json_t *b)
{
    const json_t *subjects = json_object_get(a, "subjects");
    size_t count = json_array_size(subjects);
    bool is_same = is_of_pair(a) && count >= 2 &&
                   count == json_array_size(json_object_get(b, "subjects")) &&
                   ui_reason_is(a, ui_member(b, "code")) &&
                   json_equal(json_object_get(a, "numbers"), json_object_get(b, "numbers"));
    for (size_t i = 2; i < count && is_same; i++)
        is_same = strcmp(subject_of(a, i), subject_of(b, i)) == 0;
    return is_same;
}

/* Index of the first note that says the same of other places, or its own. */
static size_t find_same(const json_t *notes, size_t index)
{
    size_t i = 0;
    while (i < index && !is_same_note(json_array_get(notes, i), json_array_get(notes, index)))
        i++;
    return i;
}

/* Prints a note, and the pairs of places of those behind it that say the same. */
static void put_note(struct ui *ui, const json_t *notes, size_t index)
{
    struct ui line = {.utf8 = ui->utf8, .width = ui->width};
    const char *separator = "; likewise ";
    ui_put(&line, "%s", ui_reason_text(json_array_get(notes, index)));
    for (size_t i = index + 1; i < json_array_size(notes); i++) {
        const json_t *other = json_array_get(notes, i);
        if (find_same(notes, i) != index)
            continue;
        ui_put(&line, "%s", separator);
        ui_text(&line, subject_of(other, 0));
        ui_put(&line, " to ");
        ui_text(&line, subject_of(other, 1));
        separator = ", ";
    }
    ui_put(ui, "  ");
    ui_paragraph(ui, 4, line.text == NULL ? "" : line.text);
    ui->failed = ui->failed || line.failed;
    ui_done(&line);
}

void ui_warnings(struct ui *ui, const json_t *warnings)
{
    size_t i;
    const json_t *item;
    if (json_array_size(warnings) == 0)
        return;
    ui_put(ui, "\n");
    ui_style(ui, UI_WARN);
    ui_put(ui, "Note\n");
    ui_style(ui, UI_PLAIN);
    json_array_foreach(warnings, i, item)
    {
        if (find_same(warnings, i) == i)
            put_note(ui, warnings, i);
    }
}

void ui_call(struct ui *ui, const char *call)
{
    char *copy = strdup(call), *rest = copy, *statement;
    ui->failed = ui->failed || copy == NULL;
    while (rest != NULL && (statement = rest) != NULL) {
        rest = strstr(statement, "; ");
        if (rest != NULL)
            *rest = '\0';
        ui_put(ui, "  ");
        ui_paragraph(ui, 4, statement);
        rest = rest != NULL ? rest + 2 : NULL;
    }
    free(copy);
}

/* True for a note on the node or the request that a person would act on, whatever the answer. */
static bool asks_for_action(const json_t *note)
{
    static const char *const codes[] = {"gpus-not-allowed", "gpus-claimed", "claim-left-out",
                                        "claims-left-out",  "gpu-left-out", "link-down",
                                        "no-room",          "memory-none",  "srun-part-of-node"};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (ui_reason_is(note, codes[i]))
            return true;
    return false;
}

/* Prints how to report the time of the first prediction; false when there is none. */
static bool put_report(struct ui *ui, const json_t *reply)
{
    const json_t *option = json_array_get(json_object_get(reply, "options"), 0),
                 *predicted = json_object_get(option != NULL ? option : reply, "predicted");
    const char *id = ui_member(predicted, "id");
    if (*id == '\0')
        return false;
    ui_put(ui, "\nafter a run: berth report-time ");
    ui_text(ui, id);
    ui_put(ui, " TIME\n");
    return true;
}

static void put_basis(struct ui *ui, const char *origin)
{
    ui_style(ui, UI_DIM);
    if (strcmp(origin, "standin") == 0)
        ui_put(ui, "for gpus of the stand-in driver, not real ones\n");
    else if (strcmp(origin, "reconstructed") == 0)
        ui_put(ui, "for a node reconstructed from published facts\n");
    else
        ui_put(ui, "for a recorded node, not this machine\n");
    ui_style(ui, UI_PLAIN);
}

static bool is_about_this_machine(const char *origin)
{
    return strcmp(origin, "live") == 0 || *origin == '\0';
}

void ui_basis(struct ui *ui, const char *origin)
{
    if (is_about_this_machine(origin))
        return;
    ui_put(ui, "\n");
    put_basis(ui, origin);
}

void ui_why(struct ui *ui, const json_t *reply, const json_t *evidence)
{
    const json_t *notes = json_object_get(reply, "warnings"), *note;
    const char *origin = ui_member(json_object_get(reply, "basis"), "origin");
    bool is_reported;
    size_t count = 0, i;
    json_t *first = json_array();
    json_array_foreach(notes, i, note)
    {
        if (ui->why || asks_for_action(note))
            json_array_append(first, (json_t *)(uintptr_t)note);
        else
            count++;
    }
    if (ui->why) {
        ui_reasons(ui, json_object_get(reply, "reasons"));
        ui_evidence(ui, evidence);
    }
    ui_warnings(ui, first);
    is_reported = ui->why && put_report(ui, reply);
    if (!ui->why) {
        ui_style(ui, UI_DIM);
        ui_put(ui, "\n");
        if (count > 0)
            ui_put(ui, "%zu %snote%s; ", count, json_array_size(first) > 0 ? "more " : "",
                   count == 1 ? "" : "s");
        ui_put(ui, "--why shows %sevidence and alternatives\n",
               count == 0   ? ""
               : count == 1 ? "it, "
                            : "them, ");
        ui_style(ui, UI_PLAIN);
    }
    if (is_reported && !is_about_this_machine(origin))
        put_basis(ui, origin);
    else
        ui_basis(ui, origin);
    json_decref(first);
}
