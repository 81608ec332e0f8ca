/* A matrix of many cores by the L3s that they share: each cell the median of its pairs of cores. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/answer.h"
#include "ui/matrix.h"
#include "ui/node.h"

#define KEY_SIZE 1024

/* Name of the L3 of each core, else of its NUMA node, by name; a new object. */
static json_t *find_groups(const struct ui_node *node)
{
    json_t *groups = json_object();
    for (size_t i = 0; i < node->place_count; i++) {
        int group = ui_place_around(node, (int)i, UI_LLC);
        group = group >= 0 ? group : ui_place_around(node, (int)i, UI_NUMA);
        if (node->place[i].kind == UI_CORE && group >= 0)
            json_object_set_new(groups, node->place[i].name, json_string(node->place[group].name));
    }
    return groups;
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
static void add(json_t *sums, const json_t *cell, const char *from, const char *to)
{
    char key[KEY_SIZE];
    char *axes = json_dumps(json_object_get(cell, "axes"), JSON_COMPACT | JSON_SORT_KEYS);
    snprintf(key, sizeof key, "%s %s %s", from, to, axes != NULL ? axes : "");
    free(axes);
    json_t *group = json_object_get(sums, key);
    if (group == NULL) {
        group = json_pack("{s:s,s:s,s:O,s:n,s:n,s:n,s:n,s:s,s:n,s:[]}", "from", from, "to", to,
                          "axes", json_object_get(cell, "axes"), "value", "low", "high",
                          "repetitions", "source", "measured", "why_not", "values");
        json_object_set_new(sums, key, group);
    }
    json_array_append(json_object_get(group, "values"), json_object_get(cell, "value"));
}

/* Counts different cores, up to most and one more. */
static size_t count_cores(const json_t *cells, const json_t *groups, size_t most)
{
    json_t *seen = json_object();
    const json_t *cell;
    size_t i, count;
    json_array_foreach(cells, i, cell)
    {
        const char *from = ui_member(cell, "from");
        if (json_object_size(seen) <= most && json_object_get(groups, from) != NULL)
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
    json_t *groups = node != NULL ? find_groups(node) : NULL, *folded = NULL, *all = json_array(),
           *sums = json_object(), *sum;
    const char *key;
    size_t i;
    if (count_cores(cells, groups, most) > most) {
        json_array_foreach(cells, i, cell)
        {
            const char *from = ui_member(groups, ui_member(cell, "from")),
                       *to = ui_member(groups, ui_member(cell, "to"));
            if (*from != '\0' && *to != '\0' && json_is_number(json_object_get(cell, "value")) &&
                strcmp(ui_member(cell, "source"), "measured") == 0)
                add(sums, cell, from, to);
        }
        json_object_foreach(sums, key, sum)
        {
            json_object_set_new(sum, "value", json_real(median(json_object_get(sum, "values"))));
            json_array_append(all, sum);
        }
        folded = json_copy((json_t *)(uintptr_t)matrix);
        json_object_set(folded, "cells", all);
    }
    json_decref(all);
    json_decref(sums);
    json_decref(groups);
    ui_node_free(node);
    return folded;
}
