#include "cpu/initiator.h"

int cpu_initiator_cores(const struct cpu_topology *topology, int llc, int numa)
{
    return llc >= 0 ? topology->llcs[llc].cores : topology->numas[numa].cores;
}

unsigned cpu_initiator_pus(const struct cpu_topology *topology, const struct cpu_cell *cell,
                           int *ret_pus)
{
    unsigned count = 0;
    int total = cpu_initiator_cores(topology, cell->llc, cell->numa);
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

static int numa_of(const struct cpu_topology *topology, const struct cpu_cell *cell)
{
    return cell->llc >= 0 ? topology->llcs[cell->llc].numa : cell->numa;
}

int cpu_initiator_noise_numa(const struct cpu_topology *topology, const struct cpu_cell *cell)
{
    int own = numa_of(topology, cell);
    if (cell->noise == CPU_NOISE_CORE)
        return own;
    if (cell->memory != own && topology->numas[cell->memory].cores > 0)
        return cell->memory;
    for (int i = 1; i < topology->numa_count; i++) {
        int other = (own + i) % topology->numa_count;
        if (topology->numas[other].cores > 0)
            return other;
    }
    return -1;
}

/* The last core of a node that is not measured itself, as its pu; -1 when there is none. scratch
 * has room for all cores. */
static int free_core(const struct cpu_topology *topology, const struct cpu_cell *cell, int numa,
                     int *scratch)
{
    unsigned measured = cpu_initiator_pus(topology, cell, scratch);
    if (cell->metric != PROBE_MEMORY_BANDWIDTH)
        measured = 1;
    else if (cell->threads > 0)
        measured = (unsigned)cell->threads;
    for (int i = topology->core_count - 1; i >= 0; i--) {
        bool taken = topology->cores[i].numa != numa;
        for (unsigned j = 0; j < measured && !taken; j++)
            taken = scratch[j] == topology->cores[i].pu;
        if (!taken)
            return topology->cores[i].pu;
    }
    return -1;
}

unsigned cpu_initiator_noise_pus(const struct cpu_topology *topology, const struct cpu_cell *cell,
                                 int *ret_pus, struct probe_why *why)
{
    int numa = cpu_initiator_noise_numa(topology, cell);
    if (cell->noise == CPU_NOISE_NUMA && numa >= 0)
        return cpu_initiator_pus(topology, &(struct cpu_cell){.llc = -1, .numa = numa}, ret_pus);
    if (cell->noise == CPU_NOISE_NUMA) {
        probe_why_write(why, "no other NUMA node has a core that may be used");
        return 0;
    }
    int pu = numa < 0 ? -1 : free_core(topology, cell, numa, ret_pus);
    if (pu < 0) {
        probe_why_write(why, "its NUMA node has no other core that may be used");
        return 0;
    }
    ret_pus[0] = pu;
    return 1;
}
