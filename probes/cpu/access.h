/* Bandwidth and latency cells: measured on the buffer of their memory, or refused with the reason.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "common/random.h"
#include "common/stats.h"
#include "cpu/buffers.h"
#include "cpu/cell.h"
#include "cpu/workers.h"

/* Inputs from the run, all borrowed, and the last reading of the noise. */
struct cpu_access {
    const struct cpu_topology *topology;
    struct cpu_buffers *buffers;
    struct cpu_workers *workers;
    struct probe_random *random; /* generator for the cycles of pointers */
    int *pus, *noise_pus;        /* room for all cores each */
    bool has_noise;
    struct probe_summary noise;
    struct probe_why no_noise; /* reason that there is no noise */
};

/* Measures and reports @cell, of memory_bandwidth or memory_latency. A cell of memory_noise reports
 * the noise's rate beside the cell before it. *ret_overrun: a thread is stuck, end the process. */
bool cpu_access_measure(struct cpu_access *access, const struct cpu_cell *cell, int64_t budget_ns,
                        struct probe_summary *ret_summary, bool *ret_overrun,
                        struct probe_why *why);
