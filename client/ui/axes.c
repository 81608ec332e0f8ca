#include "ui/axes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHOSEN_MOST 6  /* most tables */
#define CELLS_LEAST 2  /* fewer cells are easier to read side by side */
#define VALUES_MOST 12 /* values of one axis */
#define WORD_SIZE   48

/* Splits off the next "key=value" of the text; returns its end, NULL when there is none. */
static const char *next_axis(const char *text, char *key, char *value)
{
    size_t word = strcspn(text, " "), equals = strcspn(text, "=");
    if (*text == '\0' || equals >= word)
        return NULL;
    snprintf(key, WORD_SIZE, "%.*s", (int)equals, text);
    snprintf(value, WORD_SIZE, "%.*s", (int)(word - equals - 1), text + equals + 1);
    return text + word + (text[word] == ' ');
}

static bool is_default(const struct ui_choice *choice, const char *key, const char *value)
{
    const char *text = json_string_value(json_object_get(choice->defaults, key));
    return text != NULL && strcmp(text, value) == 0;
}

bool ui_chosen(const struct ui_group *group, const struct ui_choice *choice)
{
    char key[WORD_SIZE], value[WORD_SIZE];
    if (choice->defaults == NULL)
        return false;
    for (const char *at = group->axes; (at = next_axis(at, key, value)) != NULL;)
        if (json_object_get(choice->where, key) == NULL && !is_default(choice, key, value))
            return false;
    return true;
}

bool ui_chosen_helps(const struct ui_cells *cells, const struct ui_choice *choice)
{
    size_t count = 0;
    bool has_matrix = false;
    for (size_t g = 0; g < cells->count; g++) {
        const struct ui_group *group = &cells->group[g];
        if (!ui_chosen(group, choice))
            continue;
        count++;
        has_matrix =
            has_matrix || (group->rows > 1 && group->columns > 1 && group->cells >= CELLS_LEAST);
    }
    return has_matrix && count <= CHOSEN_MOST && count < cells->count;
}

/* Lists the values of an axis that are not chosen, each once. */
static void list_values(const struct ui_cells *cells, const struct ui_choice *choice,
                        const char *axis, char *line, size_t size)
{
    char seen[VALUES_MOST + 1][WORD_SIZE], key[WORD_SIZE], value[WORD_SIZE];
    size_t count = 0, used = 0;
    line[0] = '\0';
    for (size_t g = 0; g < cells->count && count <= VALUES_MOST; g++) {
        for (const char *at = cells->group[g].axes;
             (at = next_axis(at, key, value)) != NULL && count <= VALUES_MOST;) {
            bool is_new = strcmp(key, axis) == 0 && !is_default(choice, key, value);
            for (size_t i = 0; i < count && is_new; i++)
                is_new = strcmp(seen[i], value) != 0;
            if (!is_new)
                continue;
            strcpy(seen[count++], value);
            if (used < size)
                used += (size_t)snprintf(line + used, size - used, "%s%s", count > 1 ? "|" : "",
                                         count <= VALUES_MOST ? value : "...");
        }
    }
}

void ui_chosen_rest(struct ui *ui, const struct ui_cells *cells, const struct ui_choice *choice)
{
    char values[VALUES_MOST * WORD_SIZE], line[4096] = "more combinations of axes with",
                                          key[WORD_SIZE], unused[WORD_SIZE];
    size_t used = strlen(line), axes = 0;
    if (cells->count == 0)
        return;
    /* All groups have the same axes, because the daemon fills in the defaults. */
    for (const char *at = cells->group[0].axes; (at = next_axis(at, key, unused)) != NULL;) {
        list_values(cells, choice, key, values, sizeof values);
        if (json_object_get(choice->where, key) != NULL || values[0] == '\0' || used >= sizeof line)
            continue;
        used += (size_t)snprintf(line + used, sizeof line - used, "%s --where %s=%s",
                                 axes > 0 ? "," : "", key, values);
        axes++;
    }
    if (axes == 0)
        return;
    ui_put(ui, "\n  ");
    ui_paragraph(ui, 2, line);
}

const char *ui_axis_value(const char *key, const char *value, char buffer[UI_NUMBER])
{
    char *end;
    long long bytes = strtoll(value, &end, 10);
    bool is_size = strcmp(key, "bytes") == 0 && end != value && *end == '\0' && bytes >= 0;
    return is_size ? ui_count_bytes(buffer, bytes) : value;
}

/* Copies the value of one axis of the text; "" where there is none. */
static const char *value_of(const char *text, const char *axis, char value[WORD_SIZE])
{
    char key[WORD_SIZE] = "";
    while (text != NULL && strcmp(key, axis) != 0)
        text = next_axis(text, key, value);
    return text != NULL ? value : strcpy(value, "");
}

/* True when an axis has one value in all groups about the same metric. */
static bool is_common(const struct ui_cells *cells, const char *metric, const char *axis,
                      const char *value)
{
    char other[WORD_SIZE];
    for (size_t g = 0; g < cells->count; g++)
        if (strcmp(value_of(cells->group[g].axes, "metric", other), metric) == 0 &&
            strcmp(value_of(cells->group[g].axes, axis, other), value) != 0)
            return false;
    return true;
}

void ui_axes_text(const struct ui_cells *cells, const struct ui_group *group, char *text,
                  size_t size)
{
    char key[WORD_SIZE], value[WORD_SIZE], metric[WORD_SIZE], number[UI_NUMBER];
    value_of(group->axes, "metric", metric);
    size_t used = (size_t)snprintf(text, size, "%s", strcmp(metric, "-") == 0 ? "" : metric);
    for (const char *at = group->axes; (at = next_axis(at, key, value)) != NULL;)
        if (strcmp(key, "metric") != 0 && strcmp(value, "-") != 0 &&
            (cells == NULL || !is_common(cells, metric, key, value)) && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s=%s", used > 0 ? " " : "", key,
                                     ui_axis_value(key, value, number));
}
