#include "cpu_cells.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe_random.h"

#define SMALL_LLC    16 /* cores: all pairs are measured by quick */
#define SAMPLE_PAIRS 4  /* random partners per core in a larger llc, besides its neighbours */
#define SIZE_MIN     ((int64_t)16 << 10)
#define SIZE_MAX_    ((int64_t)512 << 20)

struct builder {
    const struct cpu_topology *topology;
    const struct cpu_wanted *wanted;
    struct cpu_cells cells;
    struct probe_random random;
    bool failed; /* out of memory */
};

static bool is_wanted(const struct cpu_wanted *wanted, const struct cpu_cell *cell)
{
    if (!wanted->metrics[cell->metric])
        return false;
    for (size_t i = 0; i < wanted->place_count; i++)
        if (strcmp(wanted->places[i], cell->from) == 0 || strcmp(wanted->places[i], cell->to) == 0)
            return true;
    return wanted->place_count == 0;
}

static void add(struct builder *builder, const struct cpu_cell *cell)
{
    struct cpu_cells *cells = &builder->cells;
    if (builder->failed || !is_wanted(builder->wanted, cell))
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

static void add_pair(struct builder *builder, int from, int to, bool cas)
{
    const struct cpu_core *cores = builder->topology->cores;
    struct cpu_cell cell = {.metric = PROBE_CPU_PINGPONG, .phase = CPU_PHASE_PINGPONG, .from_core = from, .to_core = to, .cas = cas};
    snprintf(cell.from, sizeof cell.from, "core%d", cores[from].number);
    snprintf(cell.to, sizeof cell.to, "core%d", cores[to].number);
    add(builder, &cell);
}

static void add_both(struct builder *builder, int a, int b)
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

static void add_llc_pairs(struct builder *builder, const int *cores, int count)
{
    for (int i = 0; i < count; i++) {
        if (count <= SMALL_LLC) {
            for (int j = i + 1; j < count; j++)
                add_both(builder, cores[i], cores[j]);
            continue;
        }
        if (i + 1 < count)
            add_both(builder, cores[i], cores[i + 1]);
        for (int k = 0; k < SAMPLE_PAIRS; k++) {
            int j = (int)probe_random_below(&builder->random, (uint64_t)count);
            if (abs(i - j) > 1) /* neither itself nor a neighbour */
                add_pair(builder, cores[i], cores[j], false);
        }
    }
}

static void shuffle(struct builder *builder, size_t first)
{
    struct cpu_cell *item = builder->cells.item;
    for (size_t i = builder->cells.count; i > first + 1; i--) {
        size_t other = first + probe_random_below(&builder->random, i - first);
        struct cpu_cell kept = item[i - 1];
        item[i - 1] = item[other];
        item[other] = kept;
    }
}

static void add_quick_pairs(struct builder *builder)
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

static void add_all_pairs(struct builder *builder)
{
    int count = builder->topology->core_count;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            for (int cas = 0; i != j && cas < 2; cas++)
                add_pair(builder, i, j, cas);
}

/* A memory cell from an llc or a numa (the other is -1) to a memory. */
static struct cpu_cell memory_cell(const struct builder *builder, enum probe_metric metric, enum cpu_phase phase, int llc, int numa,
                                   int memory)
{
    const struct cpu_topology *topology = builder->topology;
    struct cpu_cell cell = {.metric = metric, .phase = phase, .llc = llc, .numa = numa, .memory = memory};
    if (llc >= 0)
        snprintf(cell.from, sizeof cell.from, "llc%d", topology->llcs[llc].number);
    else
        snprintf(cell.from, sizeof cell.from, "numa%d", topology->numas[numa].number);
    snprintf(cell.to, sizeof cell.to, "numa%d", topology->numas[memory].number);
    return cell;
}

static int initiator_cores(const struct cpu_topology *topology, int llc, int numa)
{
    return llc >= 0 ? topology->llcs[llc].cores : topology->numas[numa].cores;
}

static void add_bandwidth(struct builder *builder, enum cpu_phase phase, int llc, int numa, int memory, int threads)
{
    struct cpu_cell cell = memory_cell(builder, PROBE_MEMORY_BANDWIDTH, phase, llc, numa, memory);
    cell.threads = threads;
    for (enum cpu_direction direction = CPU_READ; direction <= CPU_COPY; direction++) {
        cell.direction = direction;
        add(builder, &cell);
    }
}

/* 1, 2, 4 .. below all; all itself is a cell of its own. */
static void add_core_counts(struct builder *builder, int llc, int numa, int memory)
{
    for (int threads = 1; threads < initiator_cores(builder->topology, llc, numa); threads *= 2)
        add_bandwidth(builder, CPU_PHASE_DETAIL, llc, numa, memory, threads);
}

static void add_latency(struct builder *builder, int llc, int numa, int memory)
{
    struct cpu_cell cell = memory_cell(builder, PROBE_MEMORY_LATENCY, CPU_PHASE_MEMORY, llc, numa, memory);
    add(builder, &cell);
    if (builder->wanted->profile != CPU_FULL)
        return;
    cell.phase = CPU_PHASE_DETAIL;
    for (cell.bytes = SIZE_MIN; cell.bytes <= SIZE_MAX_; cell.bytes *= 2)
        add(builder, &cell);
}

static void add_from_numa(struct builder *builder, int numa, int memory)
{
    const struct cpu_topology *topology = builder->topology;
    if (topology->numas[numa].cores == 0)
        return;
    add_bandwidth(builder, CPU_PHASE_MEMORY, -1, numa, memory, 0);
    add_core_counts(builder, -1, numa, memory);
    if (topology->numas[numa].llcs == 0)
        add_latency(builder, -1, numa, memory);
}

static void add_from_llc(struct builder *builder, int llc, int memory)
{
    const struct cpu_topology *topology = builder->topology;
    const struct cpu_llc *cache = &topology->llcs[llc];
    if (cache->cores == 0)
        return;
    add_latency(builder, llc, -1, memory);
    if (cache->numa < 0 || topology->numas[cache->numa].llcs <= 1)
        return;
    add_bandwidth(builder, CPU_PHASE_DETAIL, llc, -1, memory, 0);
    if (builder->wanted->profile == CPU_FULL)
        add_core_counts(builder, llc, -1, memory);
}

static void add_memory_cells(struct builder *builder)
{
    const struct cpu_topology *topology = builder->topology;
    for (int memory = 0; memory < topology->numa_count; memory++) {
        if (topology->numas[memory].memory_bytes == 0)
            continue;
        for (int numa = 0; numa < topology->numa_count; numa++)
            add_from_numa(builder, numa, memory);
        for (int llc = 0; llc < topology->llc_count; llc++)
            add_from_llc(builder, llc, memory);
    }
}

static int compare_phases(const void *a, const void *b)
{
    const struct cpu_cell *const *x = a, *const *y = b;
    if ((*x)->phase != (*y)->phase)
        return (int)(*x)->phase - (int)(*y)->phase;
    return (*x > *y) - (*x < *y); /* keeps the order within a phase */
}

/* Orders the cells by phase. */
static bool sort_by_phase(struct cpu_cells *cells)
{
    const struct cpu_cell **order = malloc((cells->count + 1) * sizeof *order);
    struct cpu_cell *sorted = malloc((cells->count + 1) * sizeof *sorted);
    if (order != NULL && sorted != NULL) {
        for (size_t i = 0; i < cells->count; i++)
            order[i] = &cells->item[i];
        qsort(order, cells->count, sizeof *order, compare_phases);
        for (size_t i = 0; i < cells->count; i++)
            sorted[i] = *order[i];
        free(order);
        free(cells->item);
        cells->item = sorted;
        return true;
    }
    free(order);
    free(sorted);
    return false;
}

bool cpu_cells_new(const struct cpu_topology *topology, const struct cpu_wanted *wanted, struct cpu_cells *ret_cells,
                   struct probe_why *why)
{
    struct builder builder = {.topology = topology, .wanted = wanted, .random = {wanted->seed}};
    if (wanted->profile == CPU_FULL)
        add_all_pairs(&builder);
    else
        add_quick_pairs(&builder);
    if (!builder.failed)
        shuffle(&builder, 0);
    add_memory_cells(&builder);
    if (builder.failed || !sort_by_phase(&builder.cells)) {
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

unsigned cpu_cells_pus(const struct cpu_topology *topology, const struct cpu_cell *cell, int *ret_pus)
{
    unsigned count = 0;
    int total = initiator_cores(topology, cell->llc, cell->numa);
    /* Round by round, each llc gives its next core. */
    for (int round = 0; (int)count < total; round++)
        for (int llc = -1; llc < topology->llc_count; llc++) {
            int nth = 0;
            for (int i = 0; i < topology->core_count; i++) {
                const struct cpu_core *core = &topology->cores[i];
                bool inside = cell->llc >= 0 ? core->llc == cell->llc : core->numa == cell->numa;
                if (inside && core->llc == llc && nth++ == round)
                    ret_pus[count++] = core->pu;
            }
        }
    return count;
}
