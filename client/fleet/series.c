#include "fleet/series.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AXES_MOST 16

enum { LOWER, HIGHER };

const struct fleet_metric fleet_metrics[] = {
#define X(id, name, unit, better, axes, about) {name, unit, axes, better},
#include "metrics.def"
#undef X
};
const size_t fleet_metric_count = sizeof fleet_metrics / sizeof fleet_metrics[0];

const struct fleet_metric *fleet_metric_find(const char *name)
{
    for (size_t i = 0; i < fleet_metric_count; i++)
        if (strcmp(fleet_metrics[i].name, name) == 0)
            return &fleet_metrics[i];
    return NULL;
}

/* Finds an axis in "bytes=large,kind=pinned". Returns its position and default; -1 none. */
static int find_axis(const char *axes, const char *name, const char **ret_default,
                     size_t *ret_length)
{
    size_t length = strlen(name);
    for (int at = 0; *axes != '\0'; at++) {
        size_t whole = strcspn(axes, ",");
        if (whole > length && strncmp(axes, name, length) == 0 && axes[length] == '=') {
            *ret_default = axes + length + 1;
            *ret_length = whole - length - 1;
            return at;
        }
        axes += whole + (axes[whole] == ',');
    }
    return -1;
}

/* Values of axes by their position in the metric's table. */
struct chosen {
    const char *name[AXES_MOST];
    char value[AXES_MOST][41];
};

static bool choose(struct chosen *chosen, const struct fleet_metric *metric, const char *name,
                   const char *value)
{
    const char *usual;
    size_t length;
    int at = find_axis(metric->axes, name, &usual, &length);
    if (at < 0 || at >= AXES_MOST || *value == '\0' || strlen(value) > 40 ||
        strpbrk(value, ";=\t\n") != NULL)
        return false;
    bool is_default = strlen(value) == length && strncmp(value, usual, length) == 0;
    chosen->name[at] = is_default ? NULL : name;
    strcpy(chosen->value[at], value);
    return true;
}

static bool choose_all(struct chosen *chosen, const struct fleet_metric *metric, const json_t *axes)
{
    const char *name;
    json_t *value;
    char digits[24];
    if (axes != NULL && !json_is_object(axes))
        return false;
    json_object_foreach((json_t *)axes, name, value)
    {
        const char *text = json_string_value(value);
        if (json_is_integer(value)) {
            snprintf(digits, sizeof digits, "%lld", (long long)json_integer_value(value));
            text = digits;
        }
        if (text == NULL || !choose(chosen, metric, name, text))
            return false;
    }
    return true;
}

static bool print_axes(const struct chosen *chosen, char ret[FLEET_AXES_MAX])
{
    size_t length = 0;
    ret[0] = '\0';
    for (size_t i = 0; i < AXES_MOST && length < FLEET_AXES_MAX; i++)
        if (chosen->name[i] != NULL)
            length += (size_t)snprintf(ret + length, FLEET_AXES_MAX - length, "%s%s=%s",
                                       length > 0 ? ";" : "", chosen->name[i], chosen->value[i]);
    return length < FLEET_AXES_MAX;
}

bool fleet_axes(const struct fleet_metric *metric, const json_t *axes, char ret[FLEET_AXES_MAX])
{
    struct chosen chosen = {.name = {NULL}};
    return choose_all(&chosen, metric, axes) && print_axes(&chosen, ret);
}

/* The array of series never moves, so that threads read known series without the lock. */
struct fleet_series_table {
    struct fleet_series **series;
    uint32_t count;
    uint32_t *slot; /* number + 1, 0 free */
    size_t slots;   /* a power of two */
    pthread_mutex_t lock;
};

struct fleet_series_table *fleet_series_table_new(void)
{
    struct fleet_series_table *table = calloc(1, sizeof *table);
    if (table == NULL)
        return NULL;
    table->slots = 1 << 21;
    table->series = calloc(FLEET_SERIES_MAX, sizeof *table->series);
    table->slot = calloc(table->slots, sizeof *table->slot);
    pthread_mutex_init(&table->lock, NULL);
    if (table->series == NULL || table->slot == NULL) {
        fleet_series_table_free(table);
        return NULL;
    }
    return table;
}

void fleet_series_table_free(struct fleet_series_table *table)
{
    if (table == NULL)
        return;
    for (uint32_t i = 0; table->series != NULL && i < table->count; i++)
        free(table->series[i]);
    free(table->series);
    free(table->slot);
    pthread_mutex_destroy(&table->lock);
    free(table);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
    return (hash ^ 0xff) * 0x100000001b3;
}

static bool is_same(const struct fleet_series *series, const struct fleet_metric *metric,
                    const char *from, const char *to, const char *axes)
{
    return series->metric == metric && strcmp(series->from, from) == 0 &&
           strcmp(series->to, to) == 0 && strcmp(series->axes, axes) == 0;
}

static struct fleet_series *series_new(const struct fleet_metric *metric, const char *from,
                                       const char *to, const char *axes)
{
    struct fleet_series *series = malloc(sizeof *series + strlen(axes) + 1);
    if (series == NULL)
        return NULL;
    series->metric = metric;
    snprintf(series->from, sizeof series->from, "%s", from);
    snprintf(series->to, sizeof series->to, "%s", to);
    strcpy(series->axes, axes);
    return series;
}

uint32_t fleet_series_add(struct fleet_series_table *table, const struct fleet_metric *metric,
                          const char *from, const char *to, const char *axes)
{
    uint64_t hash = hash_text(0xcbf29ce484222325, metric != NULL ? metric->name : "");
    hash = hash_text(hash_text(hash_text(hash, from), to), axes);
    uint32_t found = FLEET_SERIES_NONE;
    pthread_mutex_lock(&table->lock);
    size_t at = (hash ^ hash >> 32) & (table->slots - 1);
    while (table->slot[at] != 0 &&
           !is_same(table->series[table->slot[at] - 1], metric, from, to, axes))
        at = (at + 1) & (table->slots - 1);
    if (table->slot[at] != 0) {
        found = table->slot[at] - 1;
    } else if (table->count < FLEET_SERIES_MAX &&
               (table->series[table->count] = series_new(metric, from, to, axes)) != NULL) {
        found = table->count++;
        table->slot[at] = table->count;
    }
    pthread_mutex_unlock(&table->lock);
    return found;
}

const struct fleet_series *fleet_series_at(const struct fleet_series_table *table, uint32_t number)
{
    return table->series[number];
}

uint32_t fleet_series_count(const struct fleet_series_table *table) { return table->count; }
