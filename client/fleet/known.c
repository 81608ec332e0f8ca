#include "fleet/known.h"

#include <stdlib.h>
#include <string.h>

#define LINES_MAX     65536
#define BEGINNING_MAX 1024
#define AHEAD         8 /* lines that a node may lack at a place */

struct beginning {
    char *text;
    size_t length;
    uint32_t series;
    bool higher_is_better, has_samples;
};

struct fleet_known {
    struct beginning *item;
    size_t count, room, next;
};

struct fleet_known *fleet_known_new(void) { return calloc(1, sizeof(struct fleet_known)); }

void fleet_known_free(struct fleet_known *known)
{
    if (known == NULL)
        return;
    for (size_t i = 0; i < known->count; i++)
        free(known->item[i].text);
    free(known->item);
    free(known);
}

void fleet_known_rewind(struct fleet_known *known) { known->next = 0; }

/* Reads a number that an end follows. Returns the text behind, or NULL. */
static const char *number(const char *text, const char *end, double *ret_number)
{
    char *stop;
    if (text == NULL || *text < '0' || *text > '9')
        return NULL;
    *ret_number = strtod(text, &stop);
    size_t length = strlen(end);
    return strncmp(stop, end, length) == 0 ? stop + length : NULL;
}

/* Reads the numbers of a record's value; the line ends with }. */
static bool read_interval(const char *text, const char *end, struct fleet_known_value *value)
{
    double n;
    const char *at = number(text, ",\"low\":", &value->value);
    at = number(at, ",\"high\":", &value->low);
    at = number(at, ",\"n\":", &value->high);
    value->samples = 0;
    return number(at, "}", &n) == end;
}

/* Returns the text behind a beginning; NULL when it begins otherwise. */
static const char *behind(const char *text, const char *beginning)
{
    size_t length = strlen(beginning);
    return text != NULL && strncmp(text, beginning, length) == 0 ? text + length : NULL;
}

/* Reads the numbers of a baseline's expectation. */
static bool read_samples(const char *text, const char *end, struct fleet_known_value *value)
{
    double begun;
    const char *at = number(text, ",\"accepted\":", &begun), *accepted = behind(at, "true"), *next;
    at = behind(accepted != NULL ? accepted : behind(at, "false"), ",\"values\":[");
    for (value->samples = 0; value->samples < FLEET_KNOWN_SAMPLES; at = next) {
        double *sample = &value->sample[value->samples++];
        next = number(at, ",", sample);
        if (next == NULL)
            return number(at, "]}", sample) == end;
    }
    return false;
}

static bool read_numbers(bool has_samples, const char *text, const char *end,
                         struct fleet_known_value *value)
{
    return has_samples ? read_samples(text, end, value) : read_interval(text, end, value);
}

bool fleet_known_read(struct fleet_known *known, const char *line, size_t length,
                      struct fleet_known_value *ret_value)
{
    if (length == 0 || line[length - 1] != '}')
        return false;
    for (size_t i = known->next; i < known->count && i < known->next + AHEAD; i++) {
        const struct beginning *item = &known->item[i];
        if (item->length >= length || memcmp(item->text, line, item->length) != 0)
            continue;
        ret_value->series = item->series;
        ret_value->higher_is_better = item->higher_is_better;
        if (!read_numbers(item->has_samples, line + item->length, line + length, ret_value))
            return false;
        known->next = i + 1;
        return true;
    }
    return false;
}

void fleet_known_learn(struct fleet_known *known, const char *line, size_t length, uint32_t series,
                       bool higher_is_better)
{
    static const char *const keys[] = {"\"value\":", "\"begun_s\":"};
    struct fleet_known_value value;
    const char *found = memmem(line, length, keys[0], strlen(keys[0]));
    bool has_samples = found == NULL;
    if (has_samples)
        found = memmem(line, length, keys[1], strlen(keys[1]));
    size_t begin = found == NULL ? 0 : (size_t)(found - line) + strlen(keys[has_samples]);
    if (found == NULL || begin > BEGINNING_MAX || line[length - 1] != '}' ||
        !read_numbers(has_samples, line + begin, line + length, &value) || known->next >= LINES_MAX)
        return;
    if (known->next == known->count && known->count == known->room) {
        size_t room = 2 * known->room + 256;
        struct beginning *more = realloc(known->item, room * sizeof *more);
        if (more == NULL)
            return; /* a slow reading is as good */
        known->item = more;
        known->room = room;
    }
    char *text = malloc(begin);
    if (text == NULL)
        return;
    memcpy(text, line, begin);
    if (known->next < known->count)
        free(known->item[known->next].text);
    else
        known->count++;
    struct beginning *item = &known->item[known->next++];
    item->text = text;
    item->length = begin;
    item->series = series;
    item->higher_is_better = higher_is_better;
    item->has_samples = has_samples;
}
