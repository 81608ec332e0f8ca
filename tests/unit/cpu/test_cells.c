#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cpu/buffers.h"
#include "cpu/cells.h"
#include "cpu/initiator.h"
#include "cpu/schedule.h"
#include "cpu_machine.h"

static void read_machine(char *root, const char *cpus, struct cpu_topology *ret_topology)
{
    struct cpu_list allowed;
    struct probe_why why = {0};
    assert_true(cpu_list_parse(cpus, &allowed));
    if (!cpu_topology_read(root, &allowed, NULL, ret_topology, &why))
        fail_msg("%s", why.text);
    machine_free(root);
}

static struct cpu_selection all_of(enum cpu_profile profile)
{
    struct cpu_selection selection = {.profile = profile, .seed = 1};
    selection.metrics[PROBE_CPU_PINGPONG] = selection.metrics[PROBE_CPU_COPY] =
        selection.metrics[PROBE_CPU_QUEUE] = true;
    selection.metrics[PROBE_MEMORY_BANDWIDTH] = selection.metrics[PROBE_MEMORY_LATENCY] = true;
    selection.metrics[PROBE_MEMORY_NOISE] = true;
    return selection;
}

static struct cpu_cells cells_of(const struct cpu_topology *topology,
                                 const struct cpu_selection *selection)
{
    struct cpu_cells cells;
    struct probe_why why = {0};
    assert_true(cpu_cells_new(topology, selection, &cells, &why));
    return cells;
}

static size_t count(const struct cpu_cells *cells, enum probe_metric metric, enum cpu_phase phase)
{
    size_t found = 0;
    for (size_t i = 0; i < cells->count; i++)
        found += cells->item[i].metric == metric && cells->item[i].phase == phase;
    return found;
}

static bool same(const struct cpu_cell *a, const struct cpu_cell *b)
{
    return a->metric == b->metric && strcmp(a->from, b->from) == 0 && strcmp(a->to, b->to) == 0 &&
           a->cas == b->cas && a->reader == b->reader && a->direction == b->direction &&
           a->threads == b->threads && a->bytes == b->bytes && a->noise == b->noise &&
           a->beside == b->beside;
}

static size_t count_role(const struct cpu_cells *cells, enum cpu_role role)
{
    size_t found = 0;
    for (size_t i = 0; i < cells->count; i++)
        found += cells->item[i].metric == PROBE_CPU_PINGPONG && cells->item[i].role == role;
    return found;
}

/* Invariants of every list: phases ascend, no cell occurs twice, no core hands over to itself, and
 * the reader's rate of a queue follows the writer's. */
static void check(const struct cpu_cells *cells)
{
    for (size_t i = 0; i < cells->count; i++) {
        const struct cpu_cell *cell = &cells->item[i];
        if (i > 0)
            assert_true(cell->phase >= cells->item[i - 1].phase);
        if (cell->phase == CPU_PHASE_HANDOFF)
            assert_string_not_equal(cell->from, cell->to);
        if (cell->metric == PROBE_CPU_QUEUE && cell->reader)
            assert_true(i > 0 && cells->item[i - 1].metric == PROBE_CPU_QUEUE &&
                        !cells->item[i - 1].reader &&
                        cells->item[i - 1].from_core == cell->from_core &&
                        cells->item[i - 1].to_core == cell->to_core);
        for (size_t j = 0; j < i; j++)
            assert_false(same(cell, &cells->item[j]));
    }
}

static bool has(const struct cpu_cells *cells, enum probe_metric metric, const char *from,
                const char *to)
{
    for (size_t i = 0; i < cells->count; i++)
        if (cells->item[i].metric == metric && strcmp(cells->item[i].from, from) == 0 &&
            strcmp(cells->item[i].to, to) == 0)
            return true;
    return false;
}

/* Two nodes of two llcs of four cores. */
static void quick(void **state)
{
    (void)state;
    struct cpu_topology topology;
    read_machine(machine_regular(16, 2, 4, 8), "0-31", &topology);
    struct cpu_selection selection = all_of(CPU_QUICK);
    struct cpu_cells cells = cells_of(&topology, &selection);
    check(&cells);
    assert_int_equal(count(&cells, PROBE_MEMORY_BANDWIDTH, CPU_PHASE_BANDWIDTH), 2 * 2 * 3);
    assert_int_equal(count(&cells, PROBE_MEMORY_LATENCY, CPU_PHASE_LATENCY), 4 * 2);
    /* Siblings and all pairs inside; firsts across with a check each, and all others across as
     * spare. */
    assert_int_equal(count_role(&cells, CPU_ROLE_PLAIN), 16 + 4 * 12);
    assert_int_equal(count_role(&cells, CPU_ROLE_FIRSTS), 4 * 3);
    assert_int_equal(count_role(&cells, CPU_ROLE_CHECK), 4 * 3);
    assert_int_equal(count_role(&cells, CPU_ROLE_SPARE), 4 * 3 * 14);
    assert_int_equal(count(&cells, PROBE_CPU_COPY, CPU_PHASE_HANDOFF), 4 * 2 + 4 * 3);
    assert_int_equal(count(&cells, PROBE_CPU_QUEUE, CPU_PHASE_HANDOFF), 2 * (4 * 2 + 4 * 3));
    assert_int_equal(count(&cells, PROBE_MEMORY_BANDWIDTH, CPU_PHASE_DETAIL),
                     2 * 2 * 3 * 3 + 4 * 2 * 3); /* 1, 2, 4 cores; llcs */
    assert_string_equal(cells.item[0].from, cells.item[0].to);
    assert_true(has(&cells, PROBE_CPU_PINGPONG, "core0", "core12") &&
                has(&cells, PROBE_CPU_PINGPONG, "core12", "core0"));
    assert_true(has(&cells, PROBE_CPU_PINGPONG, "core5", "core5"));
    assert_true(has(&cells, PROBE_CPU_COPY, "core4", "core5") &&
                has(&cells, PROBE_CPU_COPY, "core5", "core4"));
    assert_false(has(&cells, PROBE_CPU_COPY, "core5", "core6"));
    for (size_t i = 0; i < cells.count; i++)
        if (cells.item[i].role == CPU_ROLE_FIRSTS)
            assert_true(cells.item[i].from_core % 4 == 0 && cells.item[i].to_core % 4 == 0);
    cpu_cells_done(&cells);
    cpu_topology_done(&topology);
}

/* Some of many llcs: as many copies as fit the time of quick. */
static void quick_copies_and_queues_of_many_llcs(void **state)
{
    (void)state;
    struct cpu_topology topology;
    read_machine(machine_regular(96, 1, 4, 48), "0-95", &topology);
    struct cpu_selection selection = all_of(CPU_QUICK);
    struct cpu_cells cells = cells_of(&topology, &selection);
    assert_int_equal(count(&cells, PROBE_CPU_COPY, CPU_PHASE_HANDOFF), 12 + 12);
    size_t inside = 0;
    for (size_t i = 0; i < cells.count; i++)
        inside += cells.item[i].metric == PROBE_CPU_COPY &&
                  cells.item[i].from_core / 4 == cells.item[i].to_core / 4;
    assert_int_equal(inside, 12);
    cpu_cells_done(&cells);
    cpu_topology_done(&topology);
}

/* In the order of the list, the pairs of one way of ping-pong come in rounds: as many batches as a
 * tournament has. */
static void full_comes_in_rounds(void **state)
{
    (void)state;
    for (int cores = 7; cores <= 8; cores++) {
        struct cpu_topology topology;
        read_machine(machine_regular(cores, 1, cores, cores), "0-7", &topology);
        struct cpu_selection selection = {.profile = CPU_FULL, .seed = 3};
        selection.metrics[PROBE_CPU_PINGPONG] = true;
        struct cpu_cells cells = cells_of(&topology, &selection);
        struct cpu_schedule_pair pairs[64];
        size_t picked[64], count = 0, batches = 0;
        bool busy[8] = {0};
        for (size_t i = 0; i < cells.count; i++)
            if (!cells.item[i].cas && cells.item[i].from_core != cells.item[i].to_core)
                pairs[count++] = (struct cpu_schedule_pair){cells.item[i].from_core,
                                                            cells.item[i].to_core, false};
        assert_int_equal(count, cores * (cores - 1));
        while (cpu_schedule_pick(pairs, count, count, busy, picked) > 0)
            batches++;
        assert_int_equal(batches, 2 * cpu_schedule_rounds(cores));
        cpu_cells_done(&cells);
        cpu_topology_done(&topology);
    }
}

static void full(void **state)
{
    (void)state;
    struct cpu_topology topology;
    read_machine(machine_regular(8, 1, 4, 8), "0-7", &topology);
    struct cpu_selection selection = all_of(CPU_FULL);
    struct cpu_cells cells = cells_of(&topology, &selection);
    check(&cells);
    /* with each core's own threads */
    assert_int_equal(count(&cells, PROBE_CPU_PINGPONG, CPU_PHASE_PINGPONG), 8 * 8 * 2);
    assert_int_equal(count_role(&cells, CPU_ROLE_PLAIN), 8 * 8 * 2);
    assert_int_equal(count(&cells, PROBE_CPU_COPY, CPU_PHASE_HANDOFF), 8 * 7);
    assert_int_equal(count(&cells, PROBE_CPU_QUEUE, CPU_PHASE_HANDOFF), 8 * 7 * 2);
    /* two neighbours in each llc and the firsts across also copy more than any cache holds */
    size_t far = 0;
    for (size_t i = 0; i < cells.count; i++)
        far += cells.item[i].metric == PROBE_CPU_COPY && cells.item[i].bytes == 16 << 20;
    assert_int_equal(far, 2 + 2 + 2);
    /* 4K to 64M by halves; noise */
    assert_int_equal(count(&cells, PROBE_MEMORY_LATENCY, CPU_PHASE_DETAIL), 2 * (29 + 2));
    static const int64_t levels[] = {32 << 10, 1 << 20, 16 << 20};
    for (int llc = 0; llc < 2; llc++)
        for (size_t level = 0; level <= 3; level++) {
            /* Well inside each cache and beyond the one before: by half as much again at least. */
            size_t inside = 0;
            for (size_t i = 0; i < cells.count; i++) {
                const struct cpu_cell *cell = &cells.item[i];
                inside += cell->metric == PROBE_MEMORY_LATENCY && cell->llc == llc &&
                          cell->bytes > 0 &&
                          (level == 0 || 2 * cell->bytes >= 3 * levels[level - 1]) &&
                          (level == 3 || 2 * cell->bytes <= levels[level]);
            }
            assert_true(inside >= 2);
        }
    cpu_cells_done(&cells);
    cpu_topology_done(&topology);
}

/* 64 cores under one cache: neighbours, and a sample that another seed draws anew. */
static void large_llc(void **state)
{
    (void)state;
    struct cpu_topology topology;
    read_machine(machine_regular(64, 1, 64, 64), "0-63", &topology);
    struct cpu_selection selection = all_of(CPU_QUICK);
    struct cpu_cells first = cells_of(&topology, &selection),
                     again = cells_of(&topology, &selection);
    selection.seed = 2;
    struct cpu_cells other = cells_of(&topology, &selection);
    check(&first);
    assert_true(has(&first, PROBE_CPU_PINGPONG, "core41", "core42") &&
                has(&first, PROBE_CPU_PINGPONG, "core42", "core41"));
    assert_in_range(count(&first, PROBE_CPU_PINGPONG, CPU_PHASE_PINGPONG), 64 + 126 + 64,
                    64 + 126 + 256);
    assert_int_equal(first.count, again.count);
    size_t moved = first.count != other.count;
    for (size_t i = 0; i < first.count; i++) {
        assert_true(same(&first.item[i], &again.item[i]));
        moved += i < other.count && !same(&first.item[i], &other.item[i]);
    }
    assert_true(moved > 0);
    cpu_cells_done(&first);
    cpu_cells_done(&again);
    cpu_cells_done(&other);
    cpu_topology_done(&topology);
}

static void filters(void **state)
{
    (void)state;
    struct cpu_topology topology;
    read_machine(machine_regular(16, 2, 4, 8), "0-31", &topology);
    struct cpu_selection selection = {.seed = 1};
    selection.metrics[PROBE_MEMORY_LATENCY] = true;
    struct cpu_cells cells = cells_of(&topology, &selection);
    assert_int_equal(cells.count, 8);
    cpu_cells_done(&cells);
    selection = all_of(CPU_QUICK);
    static const char *const places[] = {"core5", "gpu0"};
    selection.places = places;
    selection.place_count = 2;
    cells = cells_of(&topology, &selection);
    size_t inside = 0, across = 0;
    for (size_t i = 0; i < cells.count; i++) {
        assert_true(cells.item[i].from_core == 5 || cells.item[i].to_core == 5);
        inside += cells.item[i].role == CPU_ROLE_PLAIN && cells.item[i].phase == CPU_PHASE_PINGPONG;
        across += cells.item[i].role == CPU_ROLE_SPARE || cells.item[i].role == CPU_ROLE_CHECK;
    }
    assert_int_equal(inside, 1 + 6); /* its threads, and the three others of its llc both ways */
    assert_int_equal(across, 2 * 12);
    cpu_cells_done(&cells);
    selection.places = places + 1;
    selection.place_count = 1;
    cells = cells_of(&topology, &selection);
    assert_int_equal(cells.count, 0);
    cpu_cells_done(&cells);
    cpu_topology_done(&topology);
}

static size_t noisy(const struct cpu_cells *cells, enum cpu_noise_kind noise)
{
    size_t found = 0;
    for (size_t i = 0; i < cells->count; i++) {
        const struct cpu_cell *cell = &cells->item[i];
        if (cell->noise != noise || cell->metric != PROBE_MEMORY_NOISE)
            continue;
        /* Follows the cell that it disturbs. */
        const struct cpu_cell *before = &cells->item[i - 1];
        assert_true(i > 0 && before->metric == cell->beside && before->noise == noise &&
                    before->direction == cell->direction && before->threads == cell->threads &&
                    strcmp(before->from, cell->from) == 0 && strcmp(before->to, cell->to) == 0);
        found++;
    }
    return found;
}

/* Two nodes of two llcs of four cores, and their noise. */
static void noise(void **state)
{
    (void)state;
    struct cpu_topology topology;
    read_machine(machine_regular(16, 2, 4, 8), "0-31", &topology);
    struct cpu_selection selection = all_of(CPU_FULL);
    struct cpu_cells cells = cells_of(&topology, &selection);
    check(&cells);
    /* memories x (llcs + nodes x ways x 1 and 4 cores) */
    assert_int_equal(noisy(&cells, CPU_NOISE_CORE), 2 * (4 + 2 * 3 * 2));
    assert_int_equal(noisy(&cells, CPU_NOISE_NUMA), 2 * (4 + 2 * 3 * 2)); /* 1 and all cores */
    int pus[16], measured[16];
    struct probe_why why = {0};
    for (size_t i = 0; i < cells.count; i++) {
        const struct cpu_cell *cell = &cells.item[i];
        if (cell->noise == CPU_NOISE_NONE || cell->metric == PROBE_MEMORY_NOISE)
            continue;
        unsigned all = cpu_initiator_pus(&topology, cell, measured),
                 count = cpu_initiator_noise_pus(&topology, cell, pus, &why);
        unsigned used = cell->metric == PROBE_MEMORY_LATENCY ? 1
                        : cell->threads > 0                  ? (unsigned)cell->threads
                                                             : all;
        assert_int_equal(count, cell->noise == CPU_NOISE_CORE ? 1 : 8);
        for (unsigned n = 0; n < count; n++) {
            /* own node, or the other */
            assert_true((pus[n] < 8) == ((measured[0] < 8) == (cell->noise == CPU_NOISE_CORE)));
            for (unsigned j = 0; j < used; j++)
                assert_int_not_equal(pus[n], measured[j]);
        }
    }
    cpu_cells_done(&cells);
    selection = (struct cpu_selection){.profile = CPU_FULL, .seed = 1};
    selection.metrics[PROBE_MEMORY_NOISE] = true;
    cells = cells_of(&topology, &selection);
    assert_int_equal(cells.count,
                     2 * 2 * 2 * (4 + 2 * 3 * 2)); /* with the cells that it disturbs */
    cpu_cells_done(&cells);
    selection = all_of(CPU_QUICK);
    cells = cells_of(&topology, &selection);
    assert_int_equal(noisy(&cells, CPU_NOISE_CORE) + noisy(&cells, CPU_NOISE_NUMA), 0);
    cpu_cells_done(&cells);
    cpu_topology_done(&topology);
}

/* One core of one node: nobody can make noise, and it says why. */
static void no_noise(void **state)
{
    (void)state;
    struct cpu_topology topology;
    read_machine(machine_regular(1, 1, 1, 1), "0", &topology);
    struct cpu_cell cell = {
        .metric = PROBE_MEMORY_LATENCY, .llc = 0, .numa = -1, .noise = CPU_NOISE_CORE};
    struct probe_why why = {0};
    int pus[1];
    assert_int_equal(cpu_initiator_noise_pus(&topology, &cell, pus, &why), 0);
    assert_string_equal(why.text, "its NUMA node has no other core that may be used");
    cell.noise = CPU_NOISE_NUMA;
    assert_int_equal(cpu_initiator_noise_pus(&topology, &cell, pus, &why), 0);
    assert_string_equal(why.text, "no other NUMA node has a core that may be used");
    cpu_topology_done(&topology);
}

/* Every initiator reaches every memory with 1, 2, 4 .. all cores in each way, also a memory without
 * cores. */
static void core_counts(void **state)
{
    (void)state;
    struct cpu_topology topology;
    char *root = machine_regular(16, 2, 4, 8);
    machine_put(root, "0-2\n", "/sys/devices/system/node/online");
    machine_put(root, "\n", "/sys/devices/system/node/node2/cpulist");
    machine_put(root, "Node 2 MemTotal: 1048576 kB\nNode 2 MemFree: 524288 kB\n",
                "/sys/devices/system/node/node2/meminfo");
    read_machine(root, "0-31", &topology);
    assert_int_equal(topology.numa_count, 3);
    struct cpu_selection selection = all_of(CPU_FULL);
    struct cpu_cells cells = cells_of(&topology, &selection);
    static const struct {
        const char *from;
        int threads[4];
    } expected[] = {{"numa0", {1, 2, 4, 0}},
                    {"numa1", {1, 2, 4, 0}},
                    {"llc0", {1, 2, 0, 0}},
                    {"llc3", {1, 2, 0, 0}}};
    static const char *const memories[] = {"numa0", "numa1", "numa2"};
    for (size_t e = 0; e < sizeof expected / sizeof *expected; e++)
        for (size_t m = 0; m < 3; m++)
            for (int n = 0; n < 4; n++)
                for (enum cpu_direction direction = CPU_READ; direction <= CPU_COPY; direction++) {
                    size_t found = 0;
                    for (size_t i = 0; i < cells.count; i++) {
                        const struct cpu_cell *cell = &cells.item[i];
                        found += cell->metric == PROBE_MEMORY_BANDWIDTH &&
                                 cell->noise == CPU_NOISE_NONE && cell->direction == direction &&
                                 cell->threads == expected[e].threads[n] &&
                                 strcmp(cell->from, expected[e].from) == 0 &&
                                 strcmp(cell->to, memories[m]) == 0;
                    }
                    assert_int_equal(found, 1);
                }
    cpu_cells_done(&cells);
    cpu_topology_done(&topology);
}

/* One cache over two nodes: latency is each node's, and so is bandwidth; both stream against the
 * whole cache. */
static void wide_llc(void **state)
{
    (void)state;
    struct cpu_topology topology;
    read_machine(machine_regular(8, 1, 8, 4), "0-7", &topology);
    assert_true(topology.llc_count == 1 && topology.llcs[0].spans && topology.numas[0].llcs == 0);
    struct cpu_selection selection = all_of(CPU_QUICK);
    struct cpu_cells cells = cells_of(&topology, &selection);
    check(&cells);
    for (int i = 0; i < 4; i++) {
        const char *from = i < 2 ? "numa0" : "numa1", *to = i % 2 == 0 ? "numa0" : "numa1";
        assert_true(has(&cells, PROBE_MEMORY_LATENCY, from, to) &&
                    has(&cells, PROBE_MEMORY_BANDWIDTH, from, to));
        assert_false(has(&cells, PROBE_MEMORY_LATENCY, "llc0", to) ||
                     has(&cells, PROBE_MEMORY_BANDWIDTH, "llc0", to));
    }
    struct cpu_cell cell = {.llc = -1, .numa = 1};
    assert_int_equal(cpu_buffers_initiator_cache(&topology, &cell), 16 << 20);
    cpu_cells_done(&cells);
    cpu_topology_done(&topology);
}

/* Some of a node's cores are not "all". */
static void partial(void **state)
{
    (void)state;
    struct cpu_topology topology;
    read_machine(machine_regular(8, 1, 4, 8), "0-4", &topology);
    struct cpu_selection selection = all_of(CPU_QUICK);
    struct cpu_cells cells = cells_of(&topology, &selection);
    check(&cells);
    for (size_t i = 0; i < cells.count; i++)
        if (cells.item[i].metric == PROBE_MEMORY_BANDWIDTH && cells.item[i].threads == 0)
            /* skipped with that */
            assert_int_equal(cells.item[i].other_cores,
                             strcmp(cells.item[i].from, "llc0") == 0 ? 0 : 3);
    size_t instead = 0;
    for (size_t i = 0; i < cells.count; i++)
        instead += cells.item[i].phase == CPU_PHASE_BANDWIDTH && cells.item[i].threads == 5;
    assert_int_equal(instead, 3);
    cpu_cells_done(&cells);
    cpu_topology_done(&topology);
}

static void one_core(void **state)
{
    (void)state;
    struct cpu_topology topology;
    read_machine(machine_regular(1, 1, 1, 1), "0", &topology);
    struct cpu_selection selection = all_of(CPU_QUICK);
    struct cpu_cells cells = cells_of(&topology, &selection);
    assert_int_equal(cells.count, 5); /* its threads, read, write, copy, latency */
    cpu_cells_done(&cells);
    cpu_topology_done(&topology);
}

/* The first cores of a node come from different caches. */
static void spread(void **state)
{
    (void)state;
    struct cpu_topology topology;
    read_machine(machine_regular(16, 2, 4, 8), "0-31", &topology);
    int pus[16];
    struct cpu_cell cell = {.metric = PROBE_MEMORY_BANDWIDTH, .llc = -1, .numa = 1};
    assert_int_equal(cpu_initiator_pus(&topology, &cell, pus), 8);
    static const int expected[] = {8, 12, 9, 13, 10, 14, 11, 15};
    assert_memory_equal(pus, expected, sizeof expected);
    cell.llc = 1;
    cell.numa = -1;
    assert_int_equal(cpu_initiator_pus(&topology, &cell, pus), 4);
    assert_int_equal(pus[0], 4);
    cpu_topology_done(&topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quick),
        cmocka_unit_test(full),
        cmocka_unit_test(large_llc),
        cmocka_unit_test(filters),
        cmocka_unit_test(partial),
        cmocka_unit_test(noise),
        cmocka_unit_test(no_noise),
        cmocka_unit_test(core_counts),
        cmocka_unit_test(wide_llc),
        cmocka_unit_test(one_core),
        cmocka_unit_test(spread),
        cmocka_unit_test(quick_copies_and_queues_of_many_llcs),
        cmocka_unit_test(full_comes_in_rounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
