#include "ui/answer.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_SIZE       32
#define STATEMENTS_MOST 16   /* of a call */
#define LEAST_START_NS  1000 /* no transfer between devices starts and ends in less */

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

static size_t word_length(const char *text) { return strcspn(text, " ,;."); }

/* True for statements that differ in one name of a place alone, with its names in both. */
static bool is_likewise(const char *a, const char *b, char place[NAME_SIZE], char other[NAME_SIZE])
{
    place[0] = '\0';
    while (*a != '\0' || *b != '\0') {
        char one[NAME_SIZE], two[NAME_SIZE];
        snprintf(one, sizeof one, "%.*s", (int)word_length(a), a);
        snprintf(two, sizeof two, "%.*s", (int)word_length(b), b);
        bool is_known = place[0] != '\0' && strcmp(one, place) == 0 && strcmp(two, other) == 0,
             is_new = place[0] == '\0' && isdigit((unsigned char)one[strcspn(one, "0123456789")]) &&
                      isdigit((unsigned char)two[strcspn(two, "0123456789")]);
        if (strcmp(one, two) != 0 && !is_known && !is_new)
            return false;
        if (strcmp(one, two) != 0) {
            strcpy(place, one);
            strcpy(other, two);
        }
        a += word_length(a);
        b += word_length(b);
        if (*a != *b)
            return false;
        a += *a != '\0';
        b += *b != '\0';
    }
    return place[0] != '\0';
}

void ui_call(struct ui *ui, const char *call)
{
    char *copy = strdup(call), *statement[STATEMENTS_MOST], *rest = copy;
    char place[NAME_SIZE], same[NAME_SIZE], other[NAME_SIZE];
    size_t count = 0, next;
    ui->failed = ui->failed || copy == NULL;
    while (rest != NULL && count < STATEMENTS_MOST) {
        char *end = strstr(rest, "; ");
        statement[count++] = rest;
        rest = end != NULL ? end + 2 : NULL;
        if (end != NULL && count < STATEMENTS_MOST)
            *end = '\0';
    }
    for (size_t i = 0; i < count; i = next) {
        struct ui line = {.utf8 = ui->utf8, .width = ui->width};
        ui_put(&line, "%s", statement[i]);
        for (next = i + 1;
             next < count && is_likewise(statement[i], statement[next], same, other) &&
             (next == i + 1 || strcmp(same, place) == 0);
             next++) {
            strcpy(place, same);
            ui_put(&line, "%s%s", next == i + 1 ? "; likewise with " : ", ", other);
        }
        ui_put(&line, "%s%s", next > i + 1 ? " for " : "", next > i + 1 ? place : "");
        ui_put(ui, "  ");
        ui_paragraph(ui, 4, line.text == NULL ? "" : line.text);
        ui->failed = ui->failed || line.failed;
        ui_done(&line);
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

void ui_limit(struct ui *ui, const char *name)
{
    static const struct {
        const char *part, *before, *behind;
    } limit[] = {{"memory", "", "'s memory"},
                 {"host-port", "the port of ", " to the host"},
                 {"gpu-port", "the port of ", " to its gpus"},
                 {"host-link", "the link of ", " to the host"},
                 {"switch-port", "the links of ", " to switches"},
                 {"hive", "what the host and the gpus linked to ", " exchange"},
                 {"port", "what ", " sends and receives"},
                 {"out", "what ", " sends"},
                 {"in", "what ", " receives"},
                 {"link", "the link ", ""},
                 {"both", "the link ", ", both ways"},
                 {"pcie-port", "the PCIe port of ", ""}};
    const char *part = strchr(name, ':');
    size_t length = part != NULL ? strcspn(part + 1, ":0123456789") : 0;
    char place[NAME_SIZE * 2];
    snprintf(place, sizeof place, "%.*s", part != NULL ? (int)(part - name) : 0, name);
    for (size_t i = 0; part != NULL && i < sizeof limit / sizeof *limit; i++) {
        if (strlen(limit[i].part) != length || memcmp(limit[i].part, part + 1, length) != 0)
            continue;
        ui_put(ui, "%s", limit[i].before);
        ui_text(ui, place);
        ui_put(ui, "%s", limit[i].behind);
        for (part += 1 + strcspn(part + 1, ":"); *part != '\0'; part += 1 + length) {
            length = strcspn(part + 1, ":");
            snprintf(place, sizeof place, "%.*s", (int)length, part + 1);
            ui_put(ui, ", ");
            ui_text(ui, place);
        }
        return;
    }
    ui_text(ui, name);
}
