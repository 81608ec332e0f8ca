/* A matrix of many cores by the L3s that they share, or by blocks of cores where they share one:
 * each cell the median of its pairs of cores. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/answer.h"
#include "ui/ends.h"
#include "ui/matrix.h"
#include "ui/node.h"

#define KEY_SIZE    1024
#define BLOCKS_MOST 8
#define CORES_MOST  4096
#define NAME_SIZE   48

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

/* True when the cores have at most one L3, else NUMA node: its one cell would tell nothing. */
static bool is_one_group(const json_t *groups)
{
    const char *core, *first = NULL;
    json_t *group;
    json_object_foreach((json_t *)(uintptr_t)groups, core, group)
    {
        first = first == NULL ? json_string_value(group) : first;
        if (strcmp(first, json_string_value(group)) != 0)
            return false;
    }
    return true;
}

/* Puts the cores, by number, into blocks of one size: "0-7". */
static void set_blocks(json_t *groups, const struct ui_node *node)
{
    int core[CORES_MOST];
    size_t count = ui_node_kind(node, UI_CORE, core, CORES_MOST),
           size = (count + BLOCKS_MOST - 1) / BLOCKS_MOST;
    for (size_t i = 0; i < count; i++) {
        size_t first = i - i % size, last = first + size - 1 < count ? first + size - 1 : count - 1;
        char name[NAME_SIZE];
        snprintf(name, sizeof name, "%d-%d", node->place[core[first]].number,
                 node->place[core[last]].number);
        json_object_set_new(groups, node->place[core[i]].name, json_string(name));
    }
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

/* The spread of the pairs that the medians hide; a new text. */
static json_t *spread_of(const struct ui *ui, const json_t *sums, const char *unit)
{
    struct ui line = {.utf8 = ui->utf8};
    char middle[UI_NUMBER];
    double least = NAN, most = NAN;
    json_t *all = json_array(), *sum, *value;
    const char *key;
    size_t i;
    json_object_foreach((json_t *)(uintptr_t)sums, key, sum)
    {
        json_array_extend(all, json_object_get(sum, "values"));
        json_array_foreach(json_object_get(sum, "values"), i, value)
        {
            least = fmin(least, json_number_value(value));
            most = fmax(most, json_number_value(value));
        }
    }
    ui_put(&line, "%zu pairs from ", json_array_size(all));
    ui_ends_range(&line, least, most, unit);
    ui_put(&line, ", median %s", ui_value(ui, middle, median(all), unit));
    json_t *text = json_string(line.text);
    json_decref(all);
    ui_done(&line);
    return text;
}

json_t *ui_fold_cores(const struct ui *ui, const json_t *matrix, const json_t *reply, size_t most)
{
    const json_t *cells = json_object_get(matrix, "cells"), *cell;
    struct ui_node *node = ui_node_new(reply);
    json_t *groups = node != NULL ? find_groups(node) : NULL, *folded = NULL, *all = json_array(),
           *sums = json_object(), *sum;
    const char *key;
    size_t i;
    bool is_by_block = groups != NULL && is_one_group(groups);
    if (is_by_block)
        set_blocks(groups, node);
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
        json_object_set_new(folded, "answer", spread_of(ui, sums, ui_member(matrix, "unit")));
        json_object_set_new(folded, "note",
                            json_sprintf("each cell is the median of the measured pairs of two %s; "
                                         "--all shows every core",
                                         is_by_block ? "blocks of cores" : "L3s"));
    }
    json_decref(all);
    json_decref(sums);
    json_decref(groups);
    ui_node_free(node);
    return folded;
}
