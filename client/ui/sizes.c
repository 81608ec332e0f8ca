#include "ui/sizes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_size(struct ui_sizes *sizes, const char *text)
{
    char *end;
    long long bytes = strtoll(text, &end, 10);
    size_t at = 0;
    if (end == text || *end != '\0' || sizes->count == UI_SIZES_MOST)
        return;
    while (at < sizes->count && sizes->bytes[at] < bytes)
        at++;
    if (at < sizes->count && sizes->bytes[at] == bytes)
        return;
    memmove(&sizes->bytes[at + 1], &sizes->bytes[at], (sizes->count - at) * sizeof sizes->bytes[0]);
    sizes->bytes[at] = bytes;
    sizes->count++;
}

json_t *ui_sizes_own(const json_t *cells, const char *own, struct ui_sizes *ret_others)
{
    struct ui_sizes others = {.count = 0};
    json_t *kept = json_array(), *cell;
    size_t i;
    json_array_foreach((json_t *)(uintptr_t)cells, i, cell)
    {
        const char *bytes =
            json_string_value(json_object_get(json_object_get(cell, "axes"), "bytes"));
        if (bytes != NULL && strcmp(bytes, own) != 0)
            add_size(&others, bytes);
        else if (json_array_append(kept, cell) != 0) {
            json_decref(kept);
            return NULL;
        }
    }
    *ret_others = others;
    return kept;
}

bool ui_sizes_matrix(const struct ui_cells *cells)
{
    for (size_t g = 0; g < cells->count; g++) {
        const struct ui_group *group = &cells->group[g];
        bool moves = false;
        for (size_t i = 0; i < group->rows * group->columns && !moves; i++)
            moves =
                group->cell[i].from != NULL && strcmp(group->cell[i].from, group->cell[i].to) != 0;
        if (moves && group->rows > 1 && group->columns > 1)
            return true;
    }
    return false;
}

/* Writes a size in the notation of --size. */
static void put_option(char *text, size_t size, int64_t bytes)
{
    static const char units[] = "KMG";
    size_t unit = 0;
    for (; unit < strlen(units) && bytes >= 1024 && bytes % 1024 == 0; unit++)
        bytes /= 1024;
    snprintf(text, size, "%lld%.*s", (long long)bytes, unit > 0 ? 1 : 0,
             unit > 0 ? &units[unit - 1] : "");
}

/* Exact where that is short. */
static const char *size_text(char *buffer, int64_t bytes)
{
    return bytes < (1 << 20) ? ui_count_bytes(buffer, bytes) : ui_bytes(buffer, bytes);
}

void ui_sizes_rest(struct ui *ui, const struct ui_sizes *others)
{
    char least[UI_NUMBER], most[UI_NUMBER], example[UI_NUMBER], range[2 * UI_NUMBER + 8];
    if (others->count == 0)
        return;
    put_option(example, sizeof example, others->bytes[others->count / 2]);
    snprintf(range, sizeof range, "%s%s%s", size_text(least, others->bytes[0]),
             others->count > 1 ? " to " : "",
             others->count > 1 ? size_text(most, others->bytes[others->count - 1]) : "");
    ui_put(ui, "\n  ");
    ui_line(ui, 2, "%zu size%s besides, %s: --size %s shows one of them, --size all every one",
            others->count, others->count == 1 ? "" : "s", range, example);
}
