/* Invariants of a finished set:
 * 1. Items ascend strictly by metric, from, to, axes text, so no key occurs twice.
 * 2. An item has a why_not exactly when its value is NAN.
 * 3. Every axes number and why_not is a string of the pool. */
#include "node/values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct values_pool {
    char **text; /* by number; 0 is the empty text */
    uint32_t count, room;
    /* open addressing: number + 1, 0 free; slot_count is a power of two, at most half of it used */
    uint32_t *slot;
    uint32_t slot_count;
    /* one for each item there is room for, so that values_finish needs no memory of its own */
    uint32_t *order;
    size_t item_room;
};

static uint32_t text_hash(const char *text)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

/* The slot that has text, or the free one where it belongs. */
static uint32_t *pool_slot(const struct values_pool *pool, const char *text)
{
    uint32_t i = text_hash(text) & (pool->slot_count - 1);
    while (pool->slot[i] != 0 && strcmp(pool->text[pool->slot[i] - 1], text) != 0)
        i = (i + 1) & (pool->slot_count - 1);
    return &pool->slot[i];
}

static bool pool_grow(struct values_pool *pool)
{
    uint32_t room = pool->room == 0 ? 16 : pool->room * 2;
    char **text = realloc(pool->text, room * sizeof *text);
    if (text == NULL)
        return false;
    pool->text = text;
    uint32_t *slot = calloc(2 * (size_t)room, sizeof *slot);
    if (slot == NULL)
        return false;
    free(pool->slot);
    pool->slot = slot;
    pool->slot_count = 2 * room;
    pool->room = room;
    for (uint32_t i = 0; i < pool->count; i++)
        *pool_slot(pool, pool->text[i]) = i + 1;
    return true;
}

static bool pool_intern(struct values_pool *pool, const char *text, uint32_t *ret_number)
{
    if (pool->count == pool->room && !pool_grow(pool))
        return false;
    uint32_t *slot = pool_slot(pool, text);
    if (*slot == 0) {
        char *copy = strdup(text);
        if (copy == NULL)
            return false;
        pool->text[pool->count++] = copy;
        *slot = pool->count;
    }
    *ret_number = *slot - 1;
    return true;
}

struct values *values_new(void)
{
    struct values *values = calloc(1, sizeof *values);
    if (values == NULL)
        return NULL;
    uint32_t empty;
    values->pool = calloc(1, sizeof *values->pool);
    if (values->pool == NULL || !pool_intern(values->pool, "", &empty)) {
        values_free(values);
        return NULL;
    }
    return values;
}

void values_free(struct values *values)
{
    if (values == NULL)
        return;
    struct values_pool *pool = values->pool;
    if (pool != NULL) {
        for (uint32_t i = 0; i < pool->count; i++)
            free(pool->text[i]);
        free(pool->text);
        free(pool->slot);
        free(pool->order);
        free(pool);
    }
    free(values->item);
    free(values);
}

static bool items_grow(struct values *values)
{
    struct values_pool *pool = values->pool;
    size_t room = pool->item_room + pool->item_room / 2 + 64;
    if (room > UINT32_MAX)
        return false;
    struct value *item = realloc(values->item, room * sizeof *item);
    if (item == NULL)
        return false;
    values->item = item;
    uint32_t *order = realloc(pool->order, room * sizeof *order);
    if (order == NULL)
        return false;
    pool->order = order;
    pool->item_room = room;
    return true;
}

const char *values_why_no_self(const struct graph *graph, enum metric metric, place_id from,
                               place_id to)
{
    const struct place *place = graph_place(graph, from);
    if (from != to || !metric_is_between(metric))
        return NULL;
    if (metric != METRIC_CPU_PINGPONG || place->kind != PLACE_CORE)
        return "it goes between two places";
    return place->cpus != NULL && cpuset_count(place->cpus) < 2 ? "the core has one thread" : NULL;
}

static bool is_never(const char *why_not)
{
    static const char *const nevers[] = {
#define NEVER(id, text) text,
#include "nevers.def"
#undef NEVER
    };
    bool found = false;
    for (size_t i = 0; i < sizeof nevers / sizeof *nevers; i++)
        found |= strcmp(why_not, nevers[i]) == 0;
    return found;
}

bool values_add(struct values *values, const struct value *v, const char *axes, const char *why_not)
{
    struct values_pool *pool = values->pool;
    struct value item = *v;
    item.why_not = NULL;
    if (values->count == pool->item_room && !items_grow(values))
        return false;
    if (!pool_intern(pool, axes, &item.axes))
        return false;
    if (isnan(item.value)) {
        uint32_t why;
        if (!pool_intern(pool, why_not != NULL ? why_not : "no reason was recorded", &why))
            return false;
        item.why_not = pool->text[why];
        item.is_never = is_never(item.why_not);
    }
    values->item[values->count++] = item;
    return true;
}

bool values_add_all(struct values *values, const struct values *other)
{
    for (size_t i = 0; i < other->count; i++)
        if (!values_add(values, &other->item[i], values_axes(other, &other->item[i]),
                        other->item[i].why_not))
            return false;
    return true;
}

static int compare_numbers(int64_t a, int64_t b) { return (a > b) - (a < b); }

static int compare(const struct values *values, const struct value *a, const struct value *b)
{
    int order = compare_numbers(a->metric, b->metric);
    if (order == 0)
        order = compare_numbers(a->from, b->from);
    if (order == 0)
        order = compare_numbers(a->to, b->to);
    if (order == 0 && a->axes != b->axes)
        order = strcmp(values_axes(values, a), values_axes(values, b));
    return order;
}

/* Equal keys stay in the order they were added. */
static int compare_order(const void *a, const void *b, void *arg)
{
    const struct values *values = arg;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    int order = compare(values, &values->item[i], &values->item[j]);
    return order != 0 ? order : compare_numbers(i, j);
}

static bool is_sorted(const struct values *values)
{
    for (size_t i = 1; i < values->count; i++)
        if (compare(values, &values->item[i - 1], &values->item[i]) >= 0)
            return false;
    return true;
}

static void sort(struct values *values)
{
    uint32_t *order = values->pool->order;
    for (size_t i = 0; i < values->count; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, values->count, sizeof *order, compare_order, values);
    /* order[i] is the origin of item i; follows each cycle of that permutation once. */
    for (size_t start = 0; start < values->count; start++) {
        struct value first = values->item[start];
        size_t at = start;
        while (order[at] != start) {
            size_t from = order[at];
            values->item[at] = values->item[from];
            order[at] = (uint32_t)at;
            at = from;
        }
        values->item[at] = first;
        order[at] = (uint32_t)at;
    }
}

/* Returns the rank of an item; a later one replaces one of no higher rank. A number beats a reason
 * for a missing one, and a measured number any other. */
static int rank(const struct value *v)
{
    return v->why_not != NULL ? 0 : v->source == VALUE_MEASURED ? 2 : 1;
}

static float nominal_of(const struct value *v)
{
    return v->source == VALUE_NOMINAL && v->why_not == NULL ? (float)v->value : v->nominal;
}

static void merge(struct value *kept, const struct value *v)
{
    float nominal = nominal_of(v) != 0 ? nominal_of(v) : nominal_of(kept);
    if (rank(v) >= rank(kept))
        *kept = *v;
    if (kept->source != VALUE_NOMINAL)
        kept->nominal = nominal;
}

size_t values_numbers(const struct values *values)
{
    size_t numbers = 0;
    for (size_t i = 0; i < values->count; i++)
        numbers += values->item[i].why_not == NULL;
    return numbers;
}

void values_finish(struct values *values)
{
    if (!is_sorted(values)) {
        sort(values);
        size_t kept = 0;
        for (size_t i = 0; i < values->count; i++) {
            const struct value *v = &values->item[i];
            if (kept == 0 || compare(values, &values->item[kept - 1], v) != 0)
                values->item[kept++] = *v;
            else
                merge(&values->item[kept - 1], v);
        }
        values->count = kept;
    }
    for (size_t metric = METRIC_COUNT, i = values->count; metric <= METRIC_COUNT; metric--) {
        while (i > 0 && (size_t)values->item[i - 1].metric >= metric)
            i--;
        values->first[metric] = i;
    }
    free(values->pool->order);
    values->pool->order = NULL;
    values->pool->item_room = values->count;
    if (values->count > 0) {
        struct value *item = realloc(values->item, values->count * sizeof *item);
        if (item != NULL)
            values->item = item;
    }
}

const char *values_axes(const struct values *values, const struct value *v)
{
    return values->pool->text[v->axes];
}

/* Orders by (metric, from, to); PLACE_NONE comes before every place. */
static int compare_keys(const struct value *a, const struct value *b)
{
    if (a->metric != b->metric)
        return a->metric < b->metric ? -1 : 1;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return compare_numbers(a->to, b->to);
}

static size_t lower_bound(const struct values *values, const struct value *key)
{
    size_t low = values->first[key->metric], high = values->first[key->metric + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct value *v = &values->item[middle];
        if (compare_keys(v, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct value *values_find(const struct values *values, enum metric metric, place_id from,
                                place_id to, const char *axes)
{
    struct value key = {.metric = metric, .from = from, .to = to};
    size_t low = values->first[metric], high = values->first[metric + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct value *v = &values->item[middle];
        int order = compare_keys(v, &key);
        if (order == 0)
            order = strcmp(values_axes(values, v), axes);
        if (order == 0)
            return isnan(v->value) ? NULL : v;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

size_t values_range_to(const struct values *values, enum metric metric, place_id from, place_id to,
                       const struct value **ret_first)
{
    struct value key = {.metric = metric, .from = from, .to = to};
    size_t low = lower_bound(values, &key), end = low;
    while (end < values->count && compare_keys(&values->item[end], &key) == 0)
        end++;
    *ret_first = end > low ? &values->item[low] : NULL;
    return end - low;
}

size_t values_range(const struct values *values, enum metric metric, place_id from,
                    const struct value **ret_first)
{
    struct value key = {.metric = metric, .from = from, .to = PLACE_NONE};
    size_t low = values->first[metric], end = values->first[metric + 1];
    if (from != PLACE_NONE) {
        low = lower_bound(values, &key);
        key.from++;
        end = lower_bound(values, &key);
    }
    *ret_first = end > low ? &values->item[low] : NULL;
    return end - low;
}

static const char *const source_names[] = {
    [VALUE_MEASURED] = "measured", [VALUE_NOMINAL] = "nominal", [VALUE_PUBLISHED] = "published"};

const char *value_source_name(enum value_source source) { return source_names[source]; }

bool value_source_parse(const char *name, enum value_source *ret_source)
{
    for (int s = 0; s <= VALUE_PUBLISHED; s++)
        if (strcmp(source_names[s], name) == 0) {
            *ret_source = (enum value_source)s;
            return true;
        }
    return false;
}

bool values_is_one_way(const struct values *values, const struct value *value)
{
    return value->why_not == NULL && value->value > 0 && value->source != VALUE_NOMINAL &&
           strstr(values_axes(values, value), "direction=both") == NULL;
}

bool values_stands_for_back(const struct values *values, const struct value *value)
{
    return values_is_one_way(values, value) && value->source == VALUE_MEASURED &&
           *values_axes(values, value) == '\0' &&
           values_find(values, value->metric, value->to, value->from, "") == NULL;
}
