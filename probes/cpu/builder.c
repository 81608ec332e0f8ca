#include "cpu/builder.h"

#include <stdlib.h>
#include <string.h>

static bool has_place(const struct cpu_cell *cell, const char *const *places, size_t count)
{
    bool found = false;
    for (size_t i = 0; i < count && !found; i++)
        found = strcmp(places[i], cell->from) == 0 || strcmp(places[i], cell->to) == 0;
    return found;
}

static bool is_selected(const struct cpu_selection *selection, const struct cpu_cell *cell)
{
    /* Noise and the metric that it disturbs are measured together. */
    bool asked = selection->metrics[cell->metric] ||
                 (cell->noise != CPU_NOISE_NONE && selection->metrics[PROBE_MEMORY_NOISE]) ||
                 (cell->metric == PROBE_MEMORY_NOISE && selection->metrics[cell->beside]);
    if (!asked || has_place(cell, selection->without, selection->without_count))
        return false;
    return selection->place_count == 0 ||
           has_place(cell, selection->places, selection->place_count);
}

void cpu_builder_add(struct cpu_builder *builder, const struct cpu_cell *cell)
{
    struct cpu_cells *cells = &builder->cells;
    if (builder->failed || !is_selected(builder->selection, cell))
        return;
    if (cells->count == cells->capacity) {
        size_t capacity = cells->capacity == 0 ? 64 : cells->capacity * 2;
        struct cpu_cell *item = realloc(cells->item, capacity * sizeof *item);
        if (item == NULL) {
            builder->failed = true;
            return;
        }
        cells->item = item;
        cells->capacity = capacity;
    }
    cells->item[cells->count++] = *cell;
}
