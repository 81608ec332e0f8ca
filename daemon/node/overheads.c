/* Each distinct text of axes is parsed once: there are a few dozen at most, but hundreds of
 * values. */
#include "node/overheads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AXES_MAX 16

/* One value with the transfer of which it is the overhead. */
struct entry {
    enum metric metric;
    place_id from, to;
    const char *axes; /* borrowed from text */
    enum transfer_clock clock;
    const struct value *value;
};

struct overheads {
    struct entry *entry; /* ascending by metric, from, to, axes */
    size_t count;
    char **text; /* each owned */
    size_t text_count;
};

static int compare(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->metric != y->metric)
        return x->metric < y->metric ? -1 : 1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return x->axes == y->axes ? 0 : strcmp(x->axes, y->axes);
}

static int compare_axes(const void *a, const void *b)
{
    const struct value *x = *(const struct value *const *)a, *y = *(const struct value *const *)b;
    return (x->axes > y->axes) - (x->axes < y->axes);
}

static bool clock_parse(const char *name, enum transfer_clock *ret)
{
    for (int clock = 0; clock < TRANSFER_CLOCKS; clock++)
        if (strcmp(transfer_clock_name((enum transfer_clock)clock), name) == 0) {
            *ret = (enum transfer_clock)clock;
            return true;
        }
    return false;
}

/* Splits the axes of an overhead into the transfer's own axes. False where they are of no
 * transfer. */
static bool read_axes(const char *axes, enum metric *ret_metric, enum transfer_clock *ret_clock,
                      char *ret_rest, size_t size)
{
    char name[48], clock[48], keys[AXES_MAX][48], values[AXES_MAX][48], again[TRANSFER_AXES_MAX];
    const char *text[2 * AXES_MAX];
    size_t count = 0;
    if (axes_get(METRIC_TRANSFER_OVERHEAD, axes, "metric", name, sizeof name) == NULL ||
        !metric_parse(name, ret_metric) || !transfer_is(*ret_metric) ||
        axes_get(METRIC_TRANSFER_OVERHEAD, axes, "clock", clock, sizeof clock) == NULL ||
        !clock_parse(clock, ret_clock))
        return false;
    for (const char *c = metric_info(*ret_metric)->axes; *c != '\0' && count < AXES_MAX;
         c += strcspn(c, ","), c += *c == ',') {
        size_t length = strcspn(c, "=,");
        length = length < sizeof keys[count] ? length : sizeof keys[count] - 1;
        memcpy(keys[count], c, length);
        keys[count][length] = '\0';
        if (strcmp(keys[count], "bytes") == 0)
            continue;
        text[2 * count] = keys[count];
        text[2 * count + 1] = axes_get(METRIC_TRANSFER_OVERHEAD, axes, keys[count], values[count],
                                       sizeof values[count]);
        if (text[2 * count + 1] == NULL)
            return false;
        count++;
    }
    if (axes_canonical(*ret_metric, text, count, ret_rest, size, NULL) != BERTH_OK)
        return false;
    transfer_overhead_axes(*ret_metric, ret_rest, *ret_clock, again, sizeof again);
    return strcmp(again, axes) == 0; /* false: it has an axis that no such transfer has */
}

/* Adds all values with the same axes. False when out of memory. */
static bool add(struct overheads *overheads, const struct values *values,
                const struct value *const *of, size_t count)
{
    struct entry entry;
    char rest[TRANSFER_AXES_MAX];
    if (!read_axes(values_axes(values, of[0]), &entry.metric, &entry.clock, rest, sizeof rest))
        return true;
    char *copy = strdup(rest);
    if (copy == NULL)
        return false;
    overheads->text[overheads->text_count++] = copy;
    for (size_t i = 0; i < count; i++)
        overheads->entry[overheads->count++] =
            (struct entry){entry.metric, of[i]->from, of[i]->to, copy, entry.clock, of[i]};
    return true;
}

struct overheads *overheads_new(const struct values *values)
{
    const struct value *first;
    size_t range = values_range(values, METRIC_TRANSFER_OVERHEAD, PLACE_NONE, &first), count = 0;
    struct overheads *overheads = calloc(1, sizeof *overheads);
    const struct value **ordered = calloc(range + 1, sizeof(struct value *));
    bool ok = overheads != NULL && ordered != NULL;
    if (ok) {
        overheads->entry = calloc(range + 1, sizeof *overheads->entry);
        overheads->text = calloc(range + 1, sizeof *overheads->text);
        ok = overheads->entry != NULL && overheads->text != NULL;
    }
    for (size_t i = 0; i < range && ok; i++)
        if (!isnan(first[i].value))
            ordered[count++] = &first[i];
    if (ok && count > 1)
        qsort(ordered, count, sizeof *ordered, compare_axes);
    for (size_t i = 0, next; i < count && ok; i = next) {
        for (next = i + 1; next < count && ordered[next]->axes == ordered[i]->axes; next++)
            ;
        ok = add(overheads, values, &ordered[i], next - i);
    }
    free(ordered);
    if (!ok) {
        overheads_free(overheads);
        return NULL;
    }
    if (overheads->count > 1)
        qsort(overheads->entry, overheads->count, sizeof *overheads->entry, compare);
    return overheads;
}

void overheads_free(struct overheads *overheads)
{
    if (overheads == NULL)
        return;
    for (size_t i = 0; i < overheads->text_count; i++)
        free(overheads->text[i]);
    free(overheads->text);
    free(overheads->entry);
    free(overheads);
}

struct overhead overheads_find(const struct overheads *overheads, enum metric metric, place_id from,
                               place_id to, const char *axes)
{
    const struct entry key = {.metric = metric, .from = from, .to = to, .axes = axes};
    struct overhead found = {{NULL}};
    size_t low = 0, high = overheads->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&overheads->entry[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < overheads->count && compare(&overheads->entry[low], &key) == 0; low++)
        found.clock[overheads->entry[low].clock] = overheads->entry[low].value;
    return found;
}
