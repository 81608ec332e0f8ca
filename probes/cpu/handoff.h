/**
 * Copy and queue cells, one pair of cores at a time: pairs side by side would share the caches and
 * memories that these measure.
 *
 * Each NUMA node whose cores take part has one piece of memory, which is bound and proven like all
 * (cpu/memory.h): the ring, and source and target of copies. The ring and the source of a cell are
 * on the node of from, the target on that of to.
 */
#pragma once
#include "common/emit.h"
#include "cpu/cells.h"
#include "cpu/memory.h"
#include "cpu/report.h"

struct cpu_handoff;

/* Makes what the copy and queue cells of the list need, filled by soft_ns or at the latest hard_ns
 * of the clock. A node that gives no memory has a why, with which its cells are skipped. NULL with
 * why when out of memory or, with *ret_overrun, when filling does not end. */
struct cpu_handoff *cpu_handoff_new(const char *root, const struct cpu_topology *topology,
                                    const struct cpu_cells *cells, int64_t soft_ns, int64_t hard_ns,
                                    struct cpu_workers *workers, bool *ret_overrun,
                                    struct probe_why *why);

/* What a stuck thread still uses stays until the process ends. */
void cpu_handoff_free(struct cpu_handoff *handoff);

/* On which pages the rings are, as a condition of the run: the worst of all nodes. */
void cpu_handoff_print(const struct cpu_handoff *handoff, struct probe_line *line);

/* Measures and reports the cell for about budget_ns: a copy, or the writer's rate of a queue, in
 * which case cell + 1 is the reader's and reported too. Cells are skipped whose CPUs do not run at
 * the same time, and all of them after CPU_PATIENCE_IN_ROW of those or when a thread does not come
 * back. Returns how many cells that were; 0 when the reader of the record is gone. */
size_t cpu_handoff_measure(struct cpu_handoff *handoff, const struct cpu_cell *cell,
                           int64_t budget_ns, uint64_t seed, struct cpu_report *report);
