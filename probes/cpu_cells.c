#include "cpu_cells.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe_random.h"

#define SMALL_LLC    16                  /* cores: all pairs are measured by quick */
#define SAMPLE_PAIRS 4                   /* random partners per core in a larger llc, besides its neighbours */
#define SMALLEST     ((int64_t)16 << 10) /* bytes of a latency cell */
#define LARGEST      ((int64_t)512 << 20)

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
    struct cpu_cell cell = {
        .metric = PROBE_CPU_PINGPONG, .phase = CPU_PHASE_PINGPONG, .from_core = from, .to_core = to, .cas = cas};
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

/* From one core to random others of its llc; none twice, and none that is measured as a neighbour. */
static void add_sample(struct builder *builder, const int *cores, int count, int from)
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
        add_sample(builder, cores, count, i);
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
static struct cpu_cell memory_cell(const struct builder *builder, enum probe_metric metric, enum cpu_phase phase, int llc,
                                   int numa, int memory)
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

/* All cores that may be used are "all" only when there are no others. */
static int all_threads(const struct cpu_topology *topology, int llc, int numa)
{
    int others = llc >= 0 ? topology->llcs[llc].other_cores : topology->numas[numa].other_cores;
    return others == 0 ? 0 : initiator_cores(topology, llc, numa);
}

static bool is_local(const struct cpu_topology *topology, int llc, int numa, int memory)
{
    return (llc >= 0 ? topology->llcs[llc].numa : numa) == memory;
}

static void add_bandwidth(struct builder *builder, enum cpu_phase phase, int llc, int numa, int memory, int threads)
{
    struct cpu_cell cell = memory_cell(builder, PROBE_MEMORY_BANDWIDTH, phase, llc, numa, memory);
    cell.threads = threads;
    cell.rank = is_local(builder->topology, llc, numa, memory) ? 0 : 1;
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

static bool is_first_llc(const struct cpu_topology *topology, int llc)
{
    for (int other = 0; other < llc; other++)
        if (topology->llcs[other].numa == topology->llcs[llc].numa && topology->llcs[other].cores > 0)
            return false;
    return true;
}

static void add_latency(struct builder *builder, int llc, int numa, int memory)
{
    struct cpu_cell cell = memory_cell(builder, PROBE_MEMORY_LATENCY, CPU_PHASE_LATENCY, llc, numa, memory);
    cell.rank = llc < 0 || is_first_llc(builder->topology, llc) ? 0 : 1;
    add(builder, &cell);
    if (builder->wanted->profile != CPU_FULL)
        return;
    cell.phase = CPU_PHASE_DETAIL;
    cell.rank = 2;
    for (cell.bytes = SMALLEST; cell.bytes <= LARGEST; cell.bytes *= 2)
        add(builder, &cell);
}

static void add_from_numa(struct builder *builder, int numa, int memory)
{
    const struct cpu_topology *topology = builder->topology;
    if (topology->numas[numa].cores == 0)
        return;
    add_bandwidth(builder, CPU_PHASE_BANDWIDTH, -1, numa, memory, all_threads(topology, -1, numa));
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
    add_bandwidth(builder, CPU_PHASE_DETAIL, llc, -1, memory, all_threads(topology, llc, -1));
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
static bool order_cells(struct builder *builder)
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
    struct builder builder = {.topology = topology, .wanted = wanted, .random = {wanted->seed}};
    if (wanted->profile == CPU_FULL)
        add_all_pairs(&builder);
    else
        add_quick_pairs(&builder);
    add_memory_cells(&builder);
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
