#include "node/counters.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"
#include "node/pci.h"

enum { WARNING = COUNTER_WARNING, CRITICAL = COUNTER_CRITICAL, STATE = COUNTER_STATE };

static const struct counter_info infos[COUNTER_COUNT] = {
#define COUNTER(id, name, finding, severity, per_hour, about)                                      \
    [COUNTER_##id] = {name, finding, about, severity, per_hour},
#include "counters.def"
#undef COUNTER
};

const struct counter_info *counters_info(enum counter counter) { return &infos[counter]; }

void counters_done(struct counters *counters)
{
    free(counters->value);
    kernel_events_done(&counters->events);
    *counters = (struct counters){0};
}

bool counters_copy(const struct counters *from, struct counters *ret)
{
    struct counters copy = *from;
    copy.value = NULL;
    copy.count = 0;
    bool ok = kernel_events_copy(&from->events, &copy.events);
    for (; ok && copy.count < from->count; copy.count += ok)
        if ((ok = grow_by_one(&copy.value, copy.count, sizeof *copy.value)))
            copy.value[copy.count] = from->value[copy.count];
    if (ok)
        *ret = copy;
    else
        counters_done(&copy);
    return ok;
}

static struct counter_value *find(struct counters *counters, const char *at, enum counter counter)
{
    for (size_t i = 0; i < counters->count; i++)
        if (counters->value[i].counter == counter && strcmp(counters->value[i].at, at) == 0)
            return &counters->value[i];
    return NULL;
}

bool counters_enter(struct counters *counters, const char *at, enum counter counter, int64_t value,
                    int64_t at_s)
{
    struct counter_value *known = find(counters, at, counter);
    if (known == NULL) {
        if (counters->count >= COUNTERS_MAX) {
            counters_note_garbage(counters, "%s: there are more than %d counters", at,
                                  COUNTERS_MAX);
            return true;
        }
        if (!grow_by_one(&counters->value, counters->count, sizeof *counters->value))
            return false;
        known = &counters->value[counters->count++];
        *known = (struct counter_value){.counter = counter, .before_at_s = at_s, .before = value};
        snprintf(known->at, sizeof known->at, "%s", at);
        known->middle = value;
        known->middle_at_s = at_s;
    } else if (value < known->value || at_s < known->at_s) {
        known->before = known->middle = value;
        known->before_at_s = known->middle_at_s = at_s;
    } else if (at_s - known->middle_at_s >= COUNTERS_WINDOW_S) {
        known->before = known->middle;
        known->before_at_s = known->middle_at_s;
        known->middle = value;
        known->middle_at_s = at_s;
    }
    known->value = value;
    known->at_s = at_s;
    return true;
}

void counters_note_garbage(struct counters *counters, const char *format, ...)
{
    if (counters->garbage++ > 0)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(counters->first_garbage, sizeof counters->first_garbage, format, args);
    va_end(args);
    text_clean(counters->first_garbage);
}

int64_t counters_rise(const struct counter_value *value, int64_t *ret_seconds)
{
    *ret_seconds = value->at_s - value->before_at_s;
    return infos[value->counter].per_hour == STATE ? 0 : value->value - value->before;
}

bool counters_is_out_of_line(const struct counter_value *value)
{
    int64_t seconds, rise = counters_rise(value, &seconds);
    const struct counter_info *info = &infos[value->counter];
    if (info->per_hour == STATE)
        return value->value > 0;
    double hours = seconds > COUNTERS_WINDOW_S ? (double)seconds / 3600 : 1;
    return (double)rise > info->per_hour * hours;
}

static bool get_text(const json_t *object, const char *key, char *text, size_t size)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value) || json_string_length(value) >= size)
        return false;
    snprintf(text, size, "%s", json_string_value(value));
    return true;
}

static bool get_number(const json_t *object, const char *key, int64_t *ret)
{
    const json_t *value = json_object_get(object, key);
    *ret = json_integer_value(value);
    return json_is_integer(value) && *ret >= 0 && *ret <= COUNTERS_VALUE_MAX;
}

static bool read_counter(struct counters *counters, const json_t *object)
{
    struct counter_value value = {.counter = COUNTER_COUNT};
    char name[32];
    bool ok = get_text(object, "at", value.at, sizeof value.at) &&
              pci_parse(value.at) != PCI_NONE && get_text(object, "counter", name, sizeof name) &&
              get_number(object, "value", &value.value) &&
              get_number(object, "at_s", &value.at_s) &&
              get_number(object, "before", &value.before) &&
              get_number(object, "before_at_s", &value.before_at_s) &&
              value.before <= value.value && value.before_at_s <= value.at_s;
    for (int i = 0; ok && i < COUNTER_COUNT; i++)
        if (strcmp(infos[i].name, name) == 0)
            value.counter = (enum counter)i;
    if (!ok || value.counter == COUNTER_COUNT || counters->count >= COUNTERS_MAX ||
        find(counters, value.at, value.counter) != NULL ||
        !grow_by_one(&counters->value, counters->count, sizeof *counters->value))
        return false;
    value.middle = value.before;
    value.middle_at_s = value.before_at_s;
    counters->value[counters->count++] = value;
    return true;
}

static bool read_event(struct counters *counters, const json_t *object)
{
    struct kernel_event event;
    int64_t sequence;
    return kernel_events_parse(object, &event, &sequence) &&
           kernel_events_enter(&counters->events, &event);
}

static void read_boot(struct counters *counters, const json_t *object)
{
    get_text(object, "id", counters->boot_id, sizeof counters->boot_id);
    if (!get_number(object, "counted_to", &counters->events.counted_to))
        counters->events.counted_to = 0;
}

static void read_line(struct counters *counters, const char *line, size_t length)
{
    json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
    char kind[16] = "";
    get_text(object, "record", kind, sizeof kind);
    if (strcmp(kind, "boot") == 0)
        read_boot(counters, object);
    else if (!(strcmp(kind, "event") == 0      ? read_event(counters, object)
               : strcmp(kind, "throttle") == 0 ? throttled_parse(object, &counters->throttles)
               : strcmp(kind, "counter") == 0  ? read_counter(counters, object)
                                               : false))
        counters_note_garbage(counters, "%.*s", (int)(length < 100 ? length : 100), line);
    json_decref(object);
}

void counters_parse(const char *text, struct counters *ret)
{
    *ret = (struct counters){0};
    for (const char *line = text; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        if (length > 0)
            read_line(ret, line, length);
        line += length + (line[length] == '\n');
    }
}

static bool append(json_t *take_object, FILE *file)
{
    bool ok = take_object != NULL && json_dumpf(take_object, file, JSON_COMPACT) == 0 &&
              fputc('\n', file) != EOF;
    json_decref(take_object);
    return ok;
}

static json_t *boot_json(const struct counters *counters)
{
    int64_t counted_to = counters->events.counted_to;
    return json_pack("{s:s, s:s, s:o*}", "record", "boot", "id", counters->boot_id, "counted_to",
                     counted_to > 0 ? json_integer(counted_to) : NULL);
}

char *counters_print(const struct counters *counters)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    bool ok = file != NULL && append(boot_json(counters), file);
    for (size_t i = 0; ok && i < counters->count; i++) {
        const struct counter_value *value = &counters->value[i];
        ok = append(json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I}", "record", "counter", "at",
                              value->at, "counter", infos[value->counter].name, "value",
                              (json_int_t)value->value, "at_s", (json_int_t)value->at_s, "before",
                              (json_int_t)value->before, "before_at_s",
                              (json_int_t)value->before_at_s),
                    file);
    }
    for (size_t i = 0; ok && i < counters->events.count; i++)
        ok = append(kernel_events_json(&counters->events.event[i]), file);
    for (size_t i = 0; ok && i < counters->throttles.count; i++)
        ok = append(throttled_json(&counters->throttles.gpu[i]), file);
    if (file != NULL && fclose(file) != 0)
        ok = false;
    if (ok)
        return text;
    free(text);
    return NULL;
}
