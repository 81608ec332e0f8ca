/**
 * The buffers of one run, one on each NUMA node that a cell reaches, and their sizes.
 *
 * Bandwidth streams TIMES the last-level caches of the initiator. A cycle of pointers visits TIMES
 * the largest last-level cache, one line of each CPU_CHASE_SPAN bytes. With less than half of
 * either, nothing is measured. Noise cycles through twice the caches of its own cores, at the
 * buffer's end.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "common/emit.h"
#include "cpu/cell.h"
#include "cpu/chase.h"
#include "cpu/memory.h"

#define CPU_BUFFERS_TIMES       4
#define CPU_BUFFERS_LEAST_TIMES 2 /* least multiple; with less, nothing is measured */

struct cpu_buffer {
    bool ready;
    struct cpu_memory memory;
    struct cpu_chase chase;
    int64_t chase_bytes;  /* bytes of the lines of the built cycle, 0 none */
    struct probe_why why; /* reason when the buffer is not ready */
};

/* Buffers by index of the topology's NUMA nodes. */
struct cpu_buffers {
    const struct cpu_topology *topology; /* borrowed */
    struct cpu_buffer *item;
};

/* Limits of the filling: until the soft end the requested bytes, until the hard end the least
 * bytes. */
struct cpu_buffers_time {
    int64_t started_ns, soft_ns, hard_ns; /* times of the clock */
};

/* Bytes of the last-level cache, from the kernel or else a guess. llc may be -1. */
int64_t cpu_buffers_cache(const struct cpu_topology *topology, int llc);

/* Bytes of the last-level caches of a cell's initiator, together. */
int64_t cpu_buffers_initiator_cache(const struct cpu_topology *topology,
                                    const struct cpu_cell *cell);

/* Bytes at the buffer's end that a cell's noise takes; a multiple of a small page. */
int64_t cpu_buffers_noise_bytes(const struct cpu_topology *topology, const struct cpu_cell *cell);

/* Reason that a buffer may be small, as a suffix of its size; often empty. */
const char *cpu_buffers_remark(const struct cpu_buffer *buffer);

/* Makes the buffers of the cells. A memory that gives none has a why, with which its cells are
 * skipped. False when out of memory or, with *ret_overrun, when filling does not end. */
bool cpu_buffers_new(const char *root, const struct cpu_topology *topology,
                     const struct cpu_cells *cells, const struct cpu_buffers_time *time,
                     struct cpu_workers *workers, struct cpu_buffers *ret_buffers,
                     bool *ret_overrun, struct probe_why *why);
void cpu_buffers_done(struct cpu_buffers *buffers);

/* Prints the buffers' state as conditions of the run: page kind, proof of placement, sizes. The
 * worst of all describes the run. */
void cpu_buffers_print(const struct cpu_buffers *buffers, struct probe_line *line);
