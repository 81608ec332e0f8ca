/* Turning of a matrix's cells: one axis becomes columns. */
#include "ui/cells.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/axes.h"

#define GROUPS_MOST 4096
#define PAIRS_MOST  64
#define AXES_MOST   16
#define NAME_BYTES  96

struct word {
    const char *text;
    size_t length;
};

/* The n-th axis of a group's text and its value. A value may have spaces, but = only follows a key.
 */
static bool axis_at(const char *axes, size_t n, struct word *ret_key, struct word *ret_value)
{
    const char *key = axes;
    for (;; n--) {
        const char *equals = strchr(key, '=');
        if (equals == NULL)
            return false;
        const char *next = strchr(equals + 1, '='),
                   *end = next == NULL ? equals + strlen(equals) : next;
        while (next != NULL && end > equals && *end != ' ')
            end--;
        if (end == equals)
            return false;
        if (n == 0) {
            *ret_key = (struct word){key, (size_t)(equals - key)};
            *ret_value = (struct word){equals + 1, (size_t)(end - equals - 1)};
            return true;
        }
        if (*end == '\0')
            return false;
        key = end + 1;
    }
}

static bool same_word(struct word a, struct word b)
{
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

/* Number of values of an axis over all groups. */
static size_t count_values(const struct ui_cells *cells, size_t axis)
{
    size_t count = 0;
    struct word key, value, other_key, other;
    for (size_t g = 0; g < cells->count; g++) {
        bool is_new = axis_at(cells->group[g].axes, axis, &key, &value);
        for (size_t h = 0; h < g && is_new; h++)
            is_new = !axis_at(cells->group[h].axes, axis, &other_key, &other) ||
                     !same_word(value, other);
        count += is_new;
    }
    return count;
}

/* All groups have the same axes, because the daemon fills in the defaults. */
static size_t longest_axis(const struct ui_cells *cells, size_t *ret_values)
{
    size_t best = 0, most = 0;
    for (size_t axis = 0; axis < AXES_MOST; axis++) {
        size_t values = count_values(cells, axis);
        if (values > most) {
            most = values;
            best = axis;
        }
    }
    *ret_values = most;
    return best;
}

/* A group's position among the turned groups. */
struct turned {
    const struct ui_group *group;
    char *rest; /* the other axes; the new group takes it, or it is freed */
    char value[NAME_BYTES];
};

struct pair {
    const char *from, *to;
};

static int compare_turned(const void *a, const void *b)
{
    const struct turned *x = a, *y = b;
    int order = ui_compare_names(x->rest, y->rest);
    return order != 0 ? order : ui_compare_names(x->value, y->value);
}

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    int order = ui_compare_names(x->from, y->from);
    return order != 0 ? order : ui_compare_names(x->to, y->to);
}

/* Distinct pairs of some groups, in order. */
static struct pair *pairs_of(const struct turned *turned, size_t count, size_t *ret_pairs)
{
    size_t room = 0, n = 0, kept = 0;
    for (size_t i = 0; i < count; i++)
        room += turned[i].group->rows * turned[i].group->columns;
    struct pair *pair = calloc(room + 1, sizeof *pair);
    if (pair == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < turned[i].group->rows * turned[i].group->columns; c++)
            if (turned[i].group->cell[c].from != NULL)
                pair[n++] =
                    (struct pair){turned[i].group->cell[c].from, turned[i].group->cell[c].to};
    qsort(pair, n, sizeof *pair, compare_pairs);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || compare_pairs(&pair[kept - 1], &pair[i]) != 0)
            pair[kept++] = pair[i];
    *ret_pairs = kept;
    return pair;
}

bool ui_pivot_helps(const struct ui_cells *cells)
{
    size_t values, pairs = 0;
    if (cells->count > GROUPS_MOST)
        return false;
    longest_axis(cells, &values);
    for (size_t g = 0; g < cells->count; g++)
        pairs = cells->group[g].cells > pairs ? cells->group[g].cells : pairs;
    return values > 2 && pairs <= PAIRS_MOST;
}

/* Copies a name into the result, which owns it. */
static const char *own(struct ui_cells *cells, const char *text)
{
    char **names = realloc(cells->name, (cells->names + 1) * sizeof *names);
    if (names == NULL)
        return NULL;
    cells->name = names;
    char *copy = strdup(text);
    if (copy != NULL)
        cells->name[cells->names++] = copy;
    return copy;
}

/* Makes one table from the groups that agree in the other axes; each group is a row. */
static bool turn(struct ui_cells *cells, struct turned *turned, size_t count, struct word key,
                 size_t axis)
{
    struct ui_group *group = &cells->group[cells->count++];
    struct pair *pair = pairs_of(turned, count, &group->columns);
    char text[NAME_BYTES], number[UI_NUMBER];
    *group = (struct ui_group){.rows = count, .columns = group->columns, .axes = turned[0].rest};
    turned[0].rest = NULL;
    group->row = calloc(count, sizeof *group->row);
    group->column = calloc(group->columns + 1, sizeof *group->column);
    group->cell = calloc(count * group->columns + 1, sizeof *group->cell);
    snprintf(text, sizeof text, "%.*s", (int)key.length, key.text);
    group->corner = own(cells, text);
    bool ok = pair != NULL && group->row != NULL && group->column != NULL && group->cell != NULL &&
              group->corner != NULL;
    for (size_t c = 0; ok && c < group->columns; c++) {
        snprintf(text, sizeof text, "%s>%s", pair[c].from, pair[c].to);
        ok = (group->column[c] = own(cells, text)) != NULL;
    }
    for (size_t r = 0; ok && r < count; r++) {
        struct word unused, value = {"", 0};
        axis_at(turned[r].group->axes, axis, &unused, &value);
        snprintf(text, sizeof text, "%.*s", (int)value.length, value.text);
        ok = (group->row[r] = own(cells, ui_axis_value(group->corner, text, number))) != NULL;
        for (size_t i = 0; i < turned[r].group->rows * turned[r].group->columns; i++) {
            const struct ui_one_cell *cell = &turned[r].group->cell[i];
            if (cell->from == NULL)
                continue;
            const struct pair *at = bsearch(&(struct pair){cell->from, cell->to}, pair,
                                            group->columns, sizeof *pair, compare_pairs);
            group->cell[r * group->columns + (size_t)(at - pair)] = *cell;
            group->cells++;
        }
    }
    free(pair);
    return ok;
}

/* Splits a group's axes into its value on the axis and the others. */
static bool split(const struct ui_group *group, size_t axis, struct turned *ret_turned)
{
    struct word key, value;
    size_t size = strlen(group->axes) + 2, used = 0;
    *ret_turned = (struct turned){.group = group, .rest = calloc(1, size)};
    if (ret_turned->rest == NULL)
        return false;
    for (size_t i = 0; axis_at(group->axes, i, &key, &value); i++) {
        if (i == axis)
            snprintf(ret_turned->value, NAME_BYTES, "%.*s", (int)value.length, value.text);
        else
            used += (size_t)snprintf(ret_turned->rest + used, size - used, "%s%.*s=%.*s",
                                     used > 0 ? " " : "", (int)key.length, key.text,
                                     (int)value.length, value.text);
    }
    return true;
}

struct ui_cells *ui_pivot(const struct ui_cells *from)
{
    size_t values, axis = longest_axis(from, &values);
    struct ui_cells *cells = calloc(1, sizeof *cells);
    struct turned *turned = calloc(from->count + 1, sizeof *turned);
    struct word key = {"", 0}, value;
    bool ok = cells != NULL && turned != NULL &&
              (cells->group = calloc(from->count + 1, sizeof *cells->group)) != NULL;
    for (size_t g = 0; ok && g < from->count; g++) {
        axis_at(from->group[g].axes, axis, &key, &value);
        ok = split(&from->group[g], axis, &turned[g]);
    }
    if (ok) {
        qsort(turned, from->count, sizeof *turned, compare_turned);
        cells->cells = from->cells;
    }
    for (size_t i = 0, end; ok && i < from->count; i = end) {
        for (end = i + 1; end < from->count && strcmp(turned[end].rest, turned[i].rest) == 0;)
            end++;
        ok = turn(cells, turned + i, end - i, key, axis);
    }
    for (size_t g = 0; turned != NULL && g < from->count; g++)
        free(turned[g].rest);
    free(turned);
    if (!ok) {
        ui_cells_free(cells);
        return NULL;
    }
    return cells;
}
