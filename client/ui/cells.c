#include "ui/cells.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/answer.h"

#define GROUP_MOST ((size_t)1 << 22)

int ui_compare_names(const char *a, const char *b) { return strverscmp(a, b); }

static int compare_text(const void *a, const void *b)
{
    return ui_compare_names(*(const char *const *)a, *(const char *const *)b);
}

/* Axes as one text, keys in ascending order. */
static char *axes_text(const json_t *axes)
{
    const char *keys[16] = {NULL};
    size_t count = 0, size = 1;
    const char *key;
    const json_t *value;
    json_object_foreach((json_t *)(uintptr_t)axes, key, value)
    {
        if (count < sizeof keys / sizeof keys[0] && json_is_string(value)) {
            keys[count++] = key;
            size += strlen(key) + json_string_length(value) + 2;
        }
    }
    qsort(keys, count, sizeof *keys, compare_text);
    char *text = calloc(1, size);
    for (size_t i = 0, used = 0; text != NULL && i < count; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s=%s", i > 0 ? " " : "", keys[i],
                                 json_string_value(json_object_get(axes, keys[i])));
    return text;
}

/* A cell with its group's text, for sorting. */
struct keyed {
    char *axes;
    const json_t *json;
    size_t position;
};

static int compare_keyed(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    int order = strverscmp(x->axes, y->axes);
    return order != 0 ? order : (x->position > y->position) - (x->position < y->position);
}

static const char *text_of(const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));
    return text == NULL ? "?" : text;
}

static struct ui_one_cell read_cell(const json_t *json)
{
    struct ui_one_cell cell = {
        .from = text_of(json, "from"),
        .to = text_of(json, "to"),
        .source = text_of(json, "source"),
        .value = ui_member_number(json, "value"),
        .low = ui_member_number(json, "low"),
        .high = ui_member_number(json, "high"),
        .repetitions = (long)json_integer_value(json_object_get(json, "repetitions")),
        .measured_at_s = json_integer_value(json_object_get(json, "measured_at_s")),
    };
    const char *why_not = json_string_value(json_object_get(json, "why_not"));
    if (isnan(cell.value))
        cell.why_not = why_not == NULL ? "no reason given" : why_not;
    return cell;
}

/* Distinct names of one side of some cells, in order. */
static const char **distinct(const struct keyed *keyed, size_t count, const char *side,
                             size_t *ret_count)
{
    const char **name = calloc(count + 1, sizeof *name);
    if (name == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++)
        name[i] = text_of(keyed[i].json, side);
    qsort(name, count, sizeof *name, compare_text);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || strcmp(name[kept - 1], name[i]) != 0)
            name[kept++] = name[i];
    *ret_count = kept;
    return name;
}

static size_t index_of(const char **name, size_t count, const char *wanted)
{
    const char **found = bsearch(&wanted, name, count, sizeof *name, compare_text);
    return found == NULL ? 0 : (size_t)(found - name);
}

static bool fill_group(struct ui_group *group, struct keyed *keyed, size_t count)
{
    group->axes = keyed[0].axes;
    keyed[0].axes = NULL;
    group->cells = count;
    group->row = distinct(keyed, count, "from", &group->rows);
    group->column = distinct(keyed, count, "to", &group->columns);
    if (group->row == NULL || group->column == NULL || group->rows > GROUP_MOST / group->columns)
        return false;
    group->cell = calloc(group->rows * group->columns, sizeof *group->cell);
    for (size_t i = 0; group->cell != NULL && i < count; i++) {
        struct ui_one_cell cell = read_cell(keyed[i].json);
        group->cell[index_of(group->row, group->rows, cell.from) * group->columns +
                    index_of(group->column, group->columns, cell.to)] = cell;
    }
    return group->cell != NULL;
}

static bool fill(struct ui_cells *cells, struct keyed *keyed, size_t count)
{
    cells->group = calloc(count + 1, sizeof *cells->group);
    cells->cells = count;
    for (size_t i = 0; cells->group != NULL && i < count;) {
        size_t end = i + 1;
        while (end < count && strcmp(keyed[end].axes, keyed[i].axes) == 0)
            end++;
        if (!fill_group(&cells->group[cells->count++], &keyed[i], end - i))
            return false;
        i = end;
    }
    return cells->group != NULL;
}

struct ui_cells *ui_cells_new(const json_t *array)
{
    size_t count = json_array_size(array), i;
    struct ui_cells *cells = calloc(1, sizeof *cells);
    struct keyed *keyed = calloc(count + 1, sizeof *keyed);
    bool fine = cells != NULL && keyed != NULL;
    const json_t *json;
    json_array_foreach(array, i, json)
    {
        if (!fine)
            break;
        keyed[i] = (struct keyed){
            .axes = axes_text(json_object_get(json, "axes")), .json = json, .position = i};
        fine = keyed[i].axes != NULL;
    }
    if (fine) {
        qsort(keyed, count, sizeof *keyed, compare_keyed);
        fine = fill(cells, keyed, count);
    }
    for (i = 0; keyed != NULL && i < count; i++)
        free(keyed[i].axes);
    free(keyed);
    if (!fine) {
        ui_cells_free(cells);
        return NULL;
    }
    return cells;
}

void ui_cells_free(struct ui_cells *cells)
{
    if (cells == NULL)
        return;
    for (size_t g = 0; cells->group != NULL && g < cells->count; g++) {
        free(cells->group[g].axes);
        free(cells->group[g].cell);
        free(cells->group[g].row);
        free(cells->group[g].column);
    }
    for (size_t i = 0; i < cells->names; i++)
        free(cells->name[i]);
    free(cells->name);
    free(cells->group);
    free(cells);
}
