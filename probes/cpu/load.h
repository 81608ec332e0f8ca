/* Sustained load on the memory of all NUMA nodes at once: the cores of each copy within its own
 * memory until the time is over. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "common/emit.h"
#include "cpu/cells.h"
#include "cpu/topology.h"
#include "cpu/workers.h"

/* Runs for duration_ns and prints the load records. cells: memory_bandwidth alone, for which the
 * buffers are sized. A node without buffer or cores is left out with its reason. False with why
 * empty: the reader is gone. False with why: out of memory, or threads do not run. */
bool cpu_load_run(const char *root, const struct cpu_topology *topology,
                  const struct cpu_cells *cells, int64_t duration_ns, struct cpu_workers *workers,
                  struct probe_out *out, struct probe_why *why);
