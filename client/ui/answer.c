#include "ui/answer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void ui_interval(const struct ui *ui, const json_t *point, const char *unit, char *text,
                 size_t size)
{
    char low[UI_NUMBER], high[UI_NUMBER];
    double least = ui_member_number(point, "low"), most = ui_member_number(point, "high");
    text[0] = '\0';
    if (isnan(least) || isnan(most))
        return;
    ui_value(ui, low, least, unit);
    ui_value(ui, high, most, unit);
    char *of_low = strchr(low, ' '), *of_high = strchr(high, ' ');
    if (of_low != NULL && of_high != NULL && strcmp(of_low, of_high) == 0)
        *of_low = '\0';
    snprintf(text, size, "%s to %s", low, high);
}
