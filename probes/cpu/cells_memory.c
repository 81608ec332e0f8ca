/* Cells of memory_bandwidth, memory_latency and memory_noise, by the cores of NUMA nodes and L3s.
 */
#include "cpu/builder.h"

#include <stdio.h>

#include "cpu/initiator.h"

#define SMALLEST ((int64_t)4 << 10) /* bytes of a latency cell */
/* least value; else the first size that is at least twice the largest last-level cache */
#define LARGEST ((int64_t)64 << 20)

/* A memory cell from an llc or a numa (the other is -1) to a memory. */
static struct cpu_cell memory_cell(const struct cpu_builder *builder, enum probe_metric metric,
                                   enum cpu_phase phase, int llc, int numa, int memory)
{
    const struct cpu_topology *topology = builder->topology;
    struct cpu_cell cell = {
        .metric = metric, .phase = phase, .llc = llc, .numa = numa, .memory = memory};
    if (llc >= 0)
        snprintf(cell.from, sizeof cell.from, "llc%d", topology->llcs[llc].number);
    else
        snprintf(cell.from, sizeof cell.from, "numa%d", topology->numas[numa].number);
    snprintf(cell.to, sizeof cell.to, "numa%d", topology->numas[memory].number);
    return cell;
}

/* Cores of it that may not be used. */
static int other_cores(const struct cpu_topology *topology, int llc, int numa)
{
    return llc >= 0 ? topology->llcs[llc].other_cores : topology->numas[numa].other_cores;
}

static bool is_local(const struct cpu_topology *topology, int llc, int numa, int memory)
{
    return (llc >= 0 ? topology->llcs[llc].numa : numa) == memory;
}

static void add_bandwidth(struct cpu_builder *builder, enum cpu_phase phase, int llc, int numa,
                          int memory, int threads)
{
    struct cpu_cell cell = memory_cell(builder, PROBE_MEMORY_BANDWIDTH, phase, llc, numa, memory);
    cell.threads = threads;
    cell.other_cores = threads == 0 ? other_cores(builder->topology, llc, numa) : 0;
    cell.rank = is_local(builder->topology, llc, numa, memory) ? 0 : 1;
    for (enum cpu_direction direction = CPU_READ; direction <= CPU_COPY; direction++) {
        cell.direction = direction;
        cpu_builder_add(builder, &cell);
    }
}

/* Adds the cell of all cores, which is skipped when some may not be used. Then adds the number of
 * usable cores. */
static void add_all_cores(struct cpu_builder *builder, enum cpu_phase phase, int llc, int numa,
                          int memory)
{
    add_bandwidth(builder, phase, llc, numa, memory, 0);
    if (other_cores(builder->topology, llc, numa) > 0)
        add_bandwidth(builder, phase, llc, numa, memory,
                      cpu_initiator_cores(builder->topology, llc, numa));
}

/* 1, 2, 4 .. below all; all itself is a cell of its own. */
static void add_core_counts(struct cpu_builder *builder, int llc, int numa, int memory)
{
    for (int threads = 1; threads < cpu_initiator_cores(builder->topology, llc, numa); threads *= 2)
        add_bandwidth(builder, CPU_PHASE_DETAIL, llc, numa, memory, threads);
}

static bool is_first_llc(const struct cpu_topology *topology, int llc)
{
    for (int other = 0; other < llc; other++)
        if (topology->llcs[other].numa == topology->llcs[llc].numa &&
            topology->llcs[other].cores > 0)
            return false;
    return true;
}

static void add_latency(struct cpu_builder *builder, int llc, int numa, int memory)
{
    struct cpu_cell cell =
        memory_cell(builder, PROBE_MEMORY_LATENCY, CPU_PHASE_LATENCY, llc, numa, memory);
    cell.rank = llc < 0 || is_first_llc(builder->topology, llc) ? 0 : 1;
    cpu_builder_add(builder, &cell);
}

/* True when latency is measured from this llc, or from this numa. An llc that reaches over several
 * nodes has no latency of its own: its nodes' cores are at different distances. */
static bool has_latency(const struct cpu_topology *topology, int llc, int numa)
{
    if (llc >= 0)
        return topology->llcs[llc].cores > 0 && !topology->llcs[llc].spans;
    return topology->numas[numa].cores > 0 && topology->numas[numa].llcs == 0;
}

static int64_t largest_size(const struct cpu_topology *topology)
{
    int64_t least = LARGEST, bytes = LARGEST;
    for (int llc = 0; llc < topology->llc_count; llc++)
        least = 2 * topology->llcs[llc].bytes > least ? 2 * topology->llcs[llc].bytes : least;
    while (bytes < least)
        bytes *= 2;
    return bytes / 4 * 3 >= least ? bytes / 4 * 3 : bytes;
}

static void add_size(struct cpu_builder *builder, int llc, int numa, int memory, int64_t bytes)
{
    if (!has_latency(builder->topology, llc, numa))
        return;
    struct cpu_cell cell =
        memory_cell(builder, PROBE_MEMORY_LATENCY, CPU_PHASE_DETAIL, llc, numa, memory);
    cell.rank = 2;
    cell.bytes = bytes;
    cpu_builder_add(builder, &cell);
}

/* Adds latency over sizes, two in each octave, so that some lie well inside every cache and beyond
 * it. Goes size by size, because each needs a cycle of its own. */
static void add_sizes(struct cpu_builder *builder, int memory)
{
    const struct cpu_topology *topology = builder->topology;
    int64_t largest = largest_size(topology);
    for (int64_t octave = SMALLEST; octave <= largest; octave *= 2)
        for (int64_t bytes = octave; bytes < 2 * octave && bytes <= largest; bytes += octave / 2)
            for (int i = 0; i < topology->numa_count + topology->llc_count; i++)
                add_size(builder, i < topology->numa_count ? -1 : i - topology->numa_count,
                         i < topology->numa_count ? i : -1, memory, bytes);
}

/* Adds a measurement under noise, and behind it the noise's own rate. */
static void add_noisy(struct cpu_builder *builder, struct cpu_cell cell, enum cpu_noise_kind noise)
{
    cell.rank = 3;
    cell.noise = noise;
    cpu_builder_add(builder, &cell);
    cell.beside = cell.metric;
    cell.metric = PROBE_MEMORY_NOISE;
    cpu_builder_add(builder, &cell);
}

static void add_noisy_latency(struct cpu_builder *builder, int llc, int numa, int memory)
{
    if (!has_latency(builder->topology, llc, numa))
        return;
    struct cpu_cell cell =
        memory_cell(builder, PROBE_MEMORY_LATENCY, CPU_PHASE_DETAIL, llc, numa, memory);
    add_noisy(builder, cell, CPU_NOISE_CORE);
    add_noisy(builder, cell, CPU_NOISE_NUMA);
}

static void add_noisy_bandwidth(struct cpu_builder *builder, int numa, int memory, int threads,
                                enum cpu_noise_kind noise)
{
    struct cpu_cell cell =
        memory_cell(builder, PROBE_MEMORY_BANDWIDTH, CPU_PHASE_DETAIL, -1, numa, memory);
    cell.threads = threads;
    for (enum cpu_direction direction = CPU_READ; direction <= CPU_COPY; direction++) {
        cell.direction = direction;
        add_noisy(builder, cell, noise);
    }
}

/* The largest of 1, 2, 4 .. that leaves a core for noise. */
static int most_beside_noise(int cores)
{
    int threads = 1;
    while (2 * threads < cores)
        threads *= 2;
    return threads;
}

/* Noise by another core beside one core and beside as many as were also measured in quiet; by
 * another node beside one and all. */
static void add_noise(struct cpu_builder *builder, int memory)
{
    const struct cpu_topology *topology = builder->topology;
    for (int llc = 0; llc < topology->llc_count; llc++)
        add_noisy_latency(builder, llc, -1, memory);
    for (int numa = 0; numa < topology->numa_count; numa++)
        add_noisy_latency(builder, -1, numa, memory);
    for (int numa = 0; numa < topology->numa_count; numa++) {
        int cores = topology->numas[numa].cores, most = most_beside_noise(cores);
        if (cores == 0)
            continue;
        add_noisy_bandwidth(builder, numa, memory, 1, CPU_NOISE_CORE);
        if (most > 1)
            add_noisy_bandwidth(builder, numa, memory, most, CPU_NOISE_CORE);
        if (cores > 1)
            add_noisy_bandwidth(builder, numa, memory, 1, CPU_NOISE_NUMA);
        add_noisy_bandwidth(builder, numa, memory, other_cores(topology, -1, numa) > 0 ? cores : 0,
                            CPU_NOISE_NUMA);
    }
}

static void add_from_numa(struct cpu_builder *builder, int numa, int memory)
{
    const struct cpu_topology *topology = builder->topology;
    if (topology->numas[numa].cores == 0)
        return;
    add_all_cores(builder, CPU_PHASE_BANDWIDTH, -1, numa, memory);
    add_core_counts(builder, -1, numa, memory);
    if (has_latency(topology, -1, numa))
        add_latency(builder, -1, numa, memory);
}

static void add_from_llc(struct cpu_builder *builder, int llc, int memory)
{
    const struct cpu_topology *topology = builder->topology;
    const struct cpu_llc *cache = &topology->llcs[llc];
    if (cache->cores == 0)
        return;
    if (has_latency(topology, llc, -1))
        add_latency(builder, llc, -1, memory);
    if (cache->numa < 0 || topology->numas[cache->numa].llcs <= 1)
        return;
    add_all_cores(builder, CPU_PHASE_DETAIL, llc, -1, memory);
    if (builder->selection->profile == CPU_FULL)
        add_core_counts(builder, llc, -1, memory);
}

void cpu_cells_memory_add(struct cpu_builder *builder)
{
    const struct cpu_topology *topology = builder->topology;
    for (int memory = 0; memory < topology->numa_count; memory++) {
        if (topology->numas[memory].memory_bytes == 0)
            continue;
        for (int numa = 0; numa < topology->numa_count; numa++)
            add_from_numa(builder, numa, memory);
        for (int llc = 0; llc < topology->llc_count; llc++)
            add_from_llc(builder, llc, memory);
        if (builder->selection->profile == CPU_FULL) {
            add_sizes(builder, memory);
            add_noise(builder, memory);
        }
    }
}
