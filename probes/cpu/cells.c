#include "cpu/cells.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/builder.h"

/* A cell's place in the order: phase, then rank. Ties are in random order or in the order of
 * adding. */
struct place {
    const struct cpu_cell *cell;
    uint64_t tie;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->cell->phase != y->cell->phase)
        return (int)x->cell->phase - (int)y->cell->phase;
    if (x->cell->rank != y->cell->rank)
        return x->cell->rank - y->cell->rank;
    if (x->tie != y->tie)
        return x->tie > y->tie ? 1 : -1;
    return (x->cell > y->cell) - (x->cell < y->cell);
}

/* Orders the cells. Where the time may not reach all, chance decides which are left out, so that
 * another seed reaches others. The first phases keep their order, because it avoids building cycles
 * of pointers again. */
static bool order_cells(struct cpu_builder *builder)
{
    struct cpu_cells *cells = &builder->cells;
    struct place *places = malloc((cells->count + 1) * sizeof *places);
    struct cpu_cell *ordered = malloc((cells->count + 1) * sizeof *ordered);
    if (places == NULL || ordered == NULL) {
        free(places);
        free(ordered);
        return false;
    }
    for (size_t i = 0; i < cells->count; i++) {
        const struct cpu_cell *cell = &cells->item[i];
        bool chance = cell->phase == CPU_PHASE_PINGPONG || cell->phase == CPU_PHASE_HANDOFF ||
                      (cell->phase == CPU_PHASE_DETAIL && cell->rank == 1);
        /* The reader's rate stays behind the writer's. */
        uint64_t tie = cell->reader && i > 0 ? places[i - 1].tie
                       : chance              ? probe_random_next(&builder->random)
                                             : i;
        places[i] = (struct place){cell, tie};
    }
    qsort(places, cells->count, sizeof *places, compare_places);
    for (size_t i = 0; i < cells->count; i++)
        ordered[i] = *places[i].cell;
    free(places);
    free(cells->item);
    cells->item = ordered;
    cells->capacity = cells->count + 1;
    return true;
}

bool cpu_cells_new(const struct cpu_topology *topology, const struct cpu_selection *selection,
                   struct cpu_cells *ret_cells, struct probe_why *why)
{
    struct cpu_builder builder = {
        .topology = topology, .selection = selection, .random = {selection->seed}};
    cpu_cells_pairs_add(&builder);
    cpu_cells_memory_add(&builder);
    if (builder.failed || !order_cells(&builder)) {
        cpu_cells_done(&builder.cells);
        return probe_why_set(why, "out of memory");
    }
    *ret_cells = builder.cells;
    return true;
}

void cpu_cells_done(struct cpu_cells *cells)
{
    free(cells->item);
    *cells = (struct cpu_cells){0};
}
