#include "cpu_cells.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu_builder.h"
#include "cpu_cells_memory.h"

#define SMALL_LLC    16                  /* cores: all pairs are measured by quick */
#define SAMPLE_PAIRS 4                   /* random partners per core in a larger llc, besides its neighbours */

static void add_pair(struct cpu_builder *builder, int from, int to, bool cas)
{
    const struct cpu_core *cores = builder->topology->cores;
    struct cpu_cell cell = {
        .metric = PROBE_CPU_PINGPONG, .phase = CPU_PHASE_PINGPONG, .from_core = from, .to_core = to, .cas = cas};
    snprintf(cell.from, sizeof cell.from, "core%d", cores[from].number);
    snprintf(cell.to, sizeof cell.to, "core%d", cores[to].number);
    cpu_builder_add(builder, &cell);
}

static void add_both(struct cpu_builder *builder, int a, int b)
{
    add_pair(builder, a, b, false);
    add_pair(builder, b, a, false);
}

/* The usable cores of an llc (-1: those without one), ascending. */
static int cores_of(const struct cpu_topology *topology, int llc, int *ret_cores)
{
    int count = 0;
    for (int i = 0; i < topology->core_count; i++)
        if (topology->cores[i].llc == llc)
            ret_cores[count++] = i;
    return count;
}

/* From one core to random others of its llc; none twice, and none that is measured as a neighbour. */
static void add_sample(struct cpu_builder *builder, const int *cores, int count, int from)
{
    int chosen[SAMPLE_PAIRS] = {0}, n = 0;
    for (int k = 0; k < SAMPLE_PAIRS; k++) {
        int to = (int)probe_random_below(&builder->random, (uint64_t)count);
        bool again = abs(from - to) <= 1;
        for (int i = 0; i < n; i++)
            again |= chosen[i] == to;
        if (again)
            continue;
        chosen[n++] = to;
        add_pair(builder, cores[from], cores[to], false);
    }
}

static void add_llc_pairs(struct cpu_builder *builder, const int *cores, int count)
{
    for (int i = 0; i < count; i++) {
        if (count <= SMALL_LLC) {
            for (int j = i + 1; j < count; j++)
                add_both(builder, cores[i], cores[j]);
            continue;
        }
        if (i + 1 < count)
            add_both(builder, cores[i], cores[i + 1]);
        add_sample(builder, cores, count, i);
    }
}

static void add_quick_pairs(struct cpu_builder *builder)
{
    const struct cpu_topology *topology = builder->topology;
    int *cores = malloc((size_t)topology->core_count * 2 * sizeof *cores);
    if (cores == NULL) {
        builder->failed = true;
        return;
    }
    int *firsts = cores + topology->core_count, first_count = 0;
    for (int llc = -1; llc < topology->llc_count; llc++) {
        int count = cores_of(topology, llc, cores);
        add_llc_pairs(builder, cores, count);
        if (count > 0)
            firsts[first_count++] = cores[0];
    }
    for (int i = 0; i < first_count; i++)
        for (int j = i + 1; j < first_count; j++)
            add_both(builder, firsts[i], firsts[j]);
    free(cores);
}

static void add_all_pairs(struct cpu_builder *builder)
{
    int count = builder->topology->core_count;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            for (int cas = 0; i != j && cas < 2; cas++)
                add_pair(builder, i, j, cas);
}

/* A cell's place in the order: phase, rank, and what is equal in these at random or as it was added. */
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
    return (x->tie > y->tie) - (x->tie < y->tie);
}

/* Orders the cells. Where the time may not reach all, chance decides which are left out, so that another seed reaches others; the
 * first phases keep their order, because it saves building cycles of pointers again. */
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
        bool chance = cell->phase == CPU_PHASE_PINGPONG || (cell->phase == CPU_PHASE_DETAIL && cell->rank == 1);
        places[i] = (struct place){cell, chance ? probe_random_next(&builder->random) : i};
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

bool cpu_cells_new(const struct cpu_topology *topology, const struct cpu_wanted *wanted, struct cpu_cells *ret_cells,
                   struct probe_why *why)
{
    struct cpu_builder builder = {.topology = topology, .wanted = wanted, .random = {wanted->seed}};
    if (wanted->profile == CPU_FULL)
        add_all_pairs(&builder);
    else
        add_quick_pairs(&builder);
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
