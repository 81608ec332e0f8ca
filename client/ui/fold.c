/* A matrix of many cores by the L3s that they share: each cell the median of its pairs of cores. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/answer.h"
#include "ui/matrix.h"
#include "ui/node.h"

#define KEY_SIZE 1024

/* The L3 of a core, else its NUMA node; NULL: it is no core, or in neither. */
static const char *group_of(const struct ui_node *node, const char *name)
{
    size_t i = 0;
    while (i < node->place_count &&
           (node->place[i].kind != UI_CORE || strcmp(node->place[i].name, name) != 0))
        i++;
    if (i == node->place_count)
        return NULL;
    int at = node->place[i].parent, numa = -1;
    for (int depth = 0; at >= 0 && depth < 64; depth++, at = node->place[at].parent) {
        if (node->place[at].kind == UI_LLC)
            return node->place[at].name;
        numa = node->place[at].kind == UI_NUMA ? at : numa;
    }
    return numa >= 0 ? node->place[numa].name : NULL;
}

static int by_value(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

/* Median of an array of numbers; 0 when out of memory. */
static double median(const json_t *values)
{
    size_t count = json_array_size(values), i;
    double *number = calloc(count + 1, sizeof *number), middle = 0;
    const json_t *value;
    if (number == NULL)
        return 0;
    json_array_foreach(values, i, value) number[i] = json_number_value(value);
    qsort(number, count, sizeof *number, by_value);
    middle = count % 2 == 1 ? number[count / 2] : (number[count / 2 - 1] + number[count / 2]) / 2;
    free(number);
    return middle;
}

/* Adds a measured cell to its group; a group has its first cell, and the values of all. */
static void add(json_t *groups, const json_t *cell, const char *from, const char *to)
{
    char key[KEY_SIZE];
    char *axes = json_dumps(json_object_get(cell, "axes"), JSON_COMPACT | JSON_SORT_KEYS);
    snprintf(key, sizeof key, "%s %s %s", from, to, axes != NULL ? axes : "");
    free(axes);
    json_t *group = json_object_get(groups, key);
    if (group == NULL) {
        group = json_pack("{s:s,s:s,s:O,s:n,s:n,s:n,s:n,s:s,s:n,s:[]}", "from", from, "to", to,
                          "axes", json_object_get(cell, "axes"), "value", "low", "high",
                          "repetitions", "source", "measured", "why_not", "values");
        json_object_set_new(groups, key, group);
    }
    json_array_append(json_object_get(group, "values"), json_object_get(cell, "value"));
}

/* Counts different cores, up to most and one more. */
static size_t count_cores(const json_t *cells, const struct ui_node *node, size_t most)
{
    json_t *seen = json_object();
    const json_t *cell;
    size_t i, count;
    json_array_foreach(cells, i, cell)
    {
        const char *from = ui_member(cell, "from");
        if (json_object_size(seen) <= most && json_object_get(seen, from) == NULL &&
            group_of(node, from) != NULL)
            json_object_set_new(seen, from, json_true());
    }
    count = json_object_size(seen);
    json_decref(seen);
    return count;
}

json_t *ui_fold_cores(const json_t *matrix, const json_t *reply, size_t most)
{
    const json_t *cells = json_object_get(matrix, "cells"), *cell;
    struct ui_node *node = ui_node_new(reply);
    json_t *groups = json_object(), *folded = NULL, *all = json_array(), *group;
    const char *key;
    size_t i;
    if (node != NULL && count_cores(cells, node, most) > most) {
        json_array_foreach(cells, i, cell)
        {
            const char *from = group_of(node, ui_member(cell, "from")),
                       *to = group_of(node, ui_member(cell, "to"));
            if (from != NULL && to != NULL && json_is_number(json_object_get(cell, "value")) &&
                strcmp(ui_member(cell, "source"), "measured") == 0)
                add(groups, cell, from, to);
        }
        json_object_foreach(groups, key, group)
        {
            json_object_set_new(group, "value",
                                json_real(median(json_object_get(group, "values"))));
            json_array_append(all, group);
        }
        folded = json_copy((json_t *)(uintptr_t)matrix);
        json_object_set(folded, "cells", all);
    }
    json_decref(all);
    json_decref(groups);
    ui_node_free(node);
    return folded;
}
