/**
 * Copy and queue cells, one pair of cores at a time: pairs side by side would share the caches and
 * memories that these measure.
 *
 * Each NUMA node with participating cores has one piece of memory, bound and proven like all
 * (cpu/memory.h). It holds the ring, and source and target of copies. The ring and the source of a
 * cell are on the node of from, the target on that of to.
 */
#pragma once
#include "common/emit.h"
#include "cpu/cells.h"
#include "cpu/memory.h"
#include "cpu/report.h"

struct cpu_copy_queue;

/* Makes the memory of the list's copy and queue cells, filled by soft_ns or at the latest hard_ns
 * of the clock. A node that gives no memory has a why, with which its cells are skipped. NULL with
 * why when out of memory or, with *ret_overrun, when filling does not end. */
struct cpu_copy_queue *cpu_copy_queue_new(const char *root, const struct cpu_topology *topology,
                                          const struct cpu_cells *cells, int64_t soft_ns,
                                          int64_t hard_ns, struct cpu_workers *workers,
                                          bool *ret_overrun, struct probe_why *why);

/* Memory that a stuck thread still uses stays until the process ends. */
void cpu_copy_queue_free(struct cpu_copy_queue *copy_queue);

/* Kind of pages of the rings, as a condition of the run: the worst of all nodes. */
void cpu_copy_queue_print(const struct cpu_copy_queue *copy_queue, struct probe_line *line);

/* Measures and reports the cell for about budget_ns. The cell is a copy, or the writer's rate of a
 * queue; then cell + 1 is the reader's and is reported too. Skips a cell when its CPUs do not run
 * at the same time. Skips all cells after CPU_WAIT_LIMIT_IN_ROW of those, or when a thread does not
 * return. Returns the number of cells reported; 0 when the reader of the record is gone. */
size_t cpu_copy_queue_measure(struct cpu_copy_queue *copy_queue, const struct cpu_cell *cell,
                              int64_t budget_ns, uint64_t seed, struct cpu_report *report);
