#include "node/sets.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

struct sets *sets_new(void) { return calloc(1, sizeof(struct sets)); }

static void free_flows(struct set *set)
{
    for (size_t i = 0; i < set->flow_count; i++)
        free(set->flow[i].axes);
    free(set->flow);
}

void sets_free(struct sets *sets)
{
    if (sets == NULL)
        return;
    for (size_t i = 0; i < sets->count; i++)
        free_flows(&sets->item[i]);
    free(sets->item);
    free(sets);
}

static int compare_numbers(int64_t a, int64_t b) { return (a > b) - (a < b); }

static int compare_flows(const void *a, const void *b)
{
    const struct set_flow *x = a, *y = b;
    int order = compare_numbers(x->from, y->from);
    if (order == 0)
        order = compare_numbers(x->to, y->to);
    return order != 0 ? order : strcmp(x->axes, y->axes);
}

static int compare_sets(const struct set *a, const struct set *b)
{
    int order = compare_numbers(a->metric, b->metric);
    if (order == 0)
        order = compare_numbers((int64_t)a->flow_count, (int64_t)b->flow_count);
    for (size_t i = 0; i < a->flow_count && order == 0; i++)
        order = compare_flows(&a->flow[i], &b->flow[i]);
    return order;
}

static bool copy_set(const struct set *set, struct set *ret_copy)
{
    struct set copy = *set;
    copy.flow = calloc(set->flow_count, sizeof *copy.flow);
    if (copy.flow == NULL)
        return false;
    for (copy.flow_count = 0; copy.flow_count < set->flow_count; copy.flow_count++) {
        struct set_flow *flow = &copy.flow[copy.flow_count];
        *flow = set->flow[copy.flow_count];
        if ((flow->axes = strdup(flow->axes)) == NULL) {
            free_flows(&copy);
            return false;
        }
    }
    qsort(copy.flow, copy.flow_count, sizeof *copy.flow, compare_flows);
    *ret_copy = copy;
    return true;
}

bool sets_add(struct sets *sets, const struct set *set)
{
    struct set copy;
    if (!copy_set(set, &copy))
        return false;
    size_t low = 0, high = sets->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_sets(&sets->item[middle], &copy) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    struct set *at = low < sets->count ? &sets->item[low] : NULL;
    if (at != NULL && compare_sets(at, &copy) == 0) {
        struct set loses = copy;
        if (copy.source == VALUE_MEASURED || at->source != VALUE_MEASURED) {
            loses = *at;
            *at = copy;
        }
        free_flows(&loses);
        return true;
    }
    if (!grow_by_one(&sets->item, sets->count, sizeof *sets->item)) {
        free_flows(&copy);
        return false;
    }
    memmove(&sets->item[low + 1], &sets->item[low], (sets->count - low) * sizeof *sets->item);
    sets->item[low] = copy;
    sets->count++;
    return true;
}

bool sets_add_all(struct sets *sets, const struct sets *other)
{
    for (size_t i = 0; other != NULL && i < other->count; i++)
        if (!sets_add(sets, &other->item[i]))
            return false;
    return true;
}
