/**
 * Memory that the kernel can give on each NUMA node now: free memory and caches that it can drop.
 * With memory on only one node this is MemAvailable of /proc/meminfo, the kernel's own estimate.
 * With several it is MemFree + Active(file) + Inactive(file) + SReclaimable of the node. That sum
 * is slightly too high: the kernel keeps a reserve, and files in use come back at once.
 *
 * A read takes one pread a node, at most every FREE_MEMORY_EVERY_MS, from files that stay open; no
 * timer wakes the daemon for it. Loop thread only.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define FREE_MEMORY_EVERY_MS 100

struct clock;
struct files;
struct free_memory;

struct free_memory_node {
    int32_t numa;       /* the operating system's number */
    int64_t free_bytes; /* -1 unknown */
};

struct free_memory_view {
    int64_t at_s; /* time of the reading */
    const struct free_memory_node *node;
    size_t count;
};

/* Opens the nodes' files below io, or /proc/meminfo as node 0 where the kernel has no node
 * directory. clock is kept. Fails with ABSENT when neither exists, and with NO_MEMORY. */
enum berth_code free_memory_new(const struct files *io, const struct clock *clock,
                                struct free_memory **ret_memory, struct berth_err *err);
void free_memory_free(struct free_memory *memory); /* NULL is fine */

/* Returns the free memory of all nodes; valid until the next call. The view is empty for NULL: a
 * recorded node has no free memory to read. */
struct free_memory_view free_memory_read(struct free_memory *memory);

/* Returns the free bytes of one node; -1 when unknown. */
int64_t free_memory_of(const struct free_memory_view *view, int32_t numa);
