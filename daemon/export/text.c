#include "export/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void export_text(struct print *text, const char *format, ...)
{
    char *line = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&line, format, args);
    va_end(args);
    if (length < 0) {
        text->failed = true;
        return;
    }
    print_bytes(text, line, (size_t)length);
    free(line);
}

/* Returns the number of bytes of the character at c, 0 when it is no UTF-8. */
static size_t character(const char *c)
{
    const unsigned char first = (unsigned char)c[0];
    size_t length = first < 0x80                    ? 1
                    : first >= 0xc2 && first < 0xe0 ? 2
                    : first >= 0xe0 && first < 0xf0 ? 3
                    : first >= 0xf0 && first < 0xf5 ? 4
                                                    : 0;
    for (size_t i = 1; i < length; i++)
        if (((unsigned char)c[i] & 0xc0) != 0x80)
            return 0;
    unsigned second = length > 1 ? (unsigned char)c[1] : 0;
    bool is_wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                    (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
    return is_wrong ? 0 : length;
}

/* Writes one character, or the replacement that escape returns (NULL: none). Returns the number of
 * bytes of c consumed. */
static size_t put(struct print *text, const char *c, const char *(*escape)(char c))
{
    size_t length = character(c);
    if (length == 0 || (unsigned char)*c < 0x20 || *c == 0x7f) {
        print_bytes(text, "?", 1);
        return 1;
    }
    const char *instead = length == 1 ? escape(*c) : NULL;
    print_bytes(text, instead != NULL ? instead : c, instead != NULL ? strlen(instead) : length);
    return length;
}

static const char *escape_xml(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    default:
        return NULL;
    }
}

static const char *escape_comment(char c) { return c == '-' ? "_" : NULL; }
static const char *escape_quoted(char c) { return c == '"' ? "\\\"" : c == '\\' ? "\\\\" : NULL; }
static const char *escape_nothing(char c)
{
    (void)c;
    return NULL;
}

void export_text_xml(struct print *text, const char *value)
{
    for (const char *c = value == NULL ? "" : value; *c != '\0';)
        c += put(text, c, escape_xml);
}

void export_text_comment(struct print *text, const char *value)
{
    for (const char *c = value == NULL ? "" : value; *c != '\0';)
        c += put(text, c, c[0] == '-' && c[1] == '-' ? escape_comment : escape_nothing);
}

void export_text_quoted(struct print *text, const char *value)
{
    for (const char *c = value == NULL ? "" : value; *c != '\0';)
        c += put(text, c, escape_quoted);
}

void export_text_head(struct print *text, const struct snapshot *snap, const char *prefix,
                      const char *suffix)
{
    char when[32] = "never";
    time_t at = (time_t)snap->last_probe_at_s;
    struct tm utc;
    if (at > 0 && gmtime_r(&at, &utc) != NULL)
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &utc);
    export_text(text, "%sberth " BERTH_VERSION ": ", prefix);
    export_text_comment(text, snap->graph->name);
    export_text(text, ", %s, snapshot %s%s\n", origin_name(snapshot_origin(snap)), snap->id,
                suffix);
    export_text(text, "%smeasured last: %s%s\n", prefix, when, suffix);
}

const struct value *export_text_value(const struct snapshot *snap, enum metric metric,
                                      place_id from, place_id to, const char *axes)
{
    const struct value *value = values_find(snap->values, metric, from, to, axes);
    return value != NULL && value->source != VALUE_NOMINAL && isfinite(value->value) &&
                   value->value > 0
               ? value
               : NULL;
}

const struct value *export_text_rate(const struct snapshot *snap, place_id from, place_id to)
{
    const struct place *places = snap->graph->places;
    bool is_between = places[from].kind == PLACE_GPU && places[to].kind == PLACE_GPU;
    const struct value *engine = export_text_value(
        snap, is_between ? METRIC_GPU_GPU_COPY_ENGINE : METRIC_HOST_GPU_COPY_ENGINE, from, to, "");
    const struct value *kernel = export_text_value(
        snap, is_between ? METRIC_GPU_GPU_KERNEL : METRIC_HOST_GPU_KERNEL, from, to, "");
    return engine == NULL || (kernel != NULL && kernel->value > engine->value) ? kernel : engine;
}
