/**
 * Hand-off through a queue: one core writes chunks of 512 bytes into a ring of 2 MiB, the other
 * follows and reads them.
 *
 * A chunk is a ready flag of 8 bytes and 504 bytes of data. The data are copied in from, and out
 * to, a small buffer of the core's own. The ring is one huge page where there is one. In a pass the
 * writer goes once round without waiting for the reader. The reader waits for each chunk's flag.
 * The next pass begins when the reader has finished. The writer's rate is the ring's bytes over its
 * own time. The reader's time runs from the writer's beginning until the reader has its last chunk.
 * Both rates are medians over passes, in bytes per second.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/stats.h"
#include "common/why.h"

#define CPU_QUEUE_BYTES ((size_t)2 << 20)

struct cpu_queue;

struct cpu_queue *cpu_queue_new(void); /* NULL when out of memory */
void cpu_queue_free(struct cpu_queue *queue);

/* Prepares a pair run (cpu/workers.h) of about budget_ns: side 0 writes, side 1 reads. It has at
 * least six passes after two that are discarded. ring has CPU_QUEUE_BYTES, aligned to lines, and
 * stays the caller's. */
void cpu_queue_begin(struct cpu_queue *queue, char *ring, int64_t budget_ns);
void cpu_queue_run_side(void *table, unsigned side);

/* Latest time at which a started pair run is given up. */
int64_t cpu_queue_wait_limit_ns(const struct cpu_queue *queue);

/* Fails with why when the pair run was given up, because the two CPUs do not run at the same time.
 * Fails also when the bytes read differ from the bytes written. */
bool cpu_queue_end(struct cpu_queue *queue, struct probe_summary *ret_writer,
                   struct probe_summary *ret_reader, struct probe_why *why);
