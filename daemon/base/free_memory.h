/**
 * How much memory the kernel could give on each NUMA node now: what is free and what it would get
 * back by dropping caches. Where only one node has memory that is MemAvailable of /proc/meminfo,
 * the kernel's own estimate; where several have, MemFree + Active(file) + Inactive(file) +
 * SReclaimable of the node, which is a little more than there is: the kernel keeps a reserve, and
 * files in use come back at once.
 *
 * It reads when asked, at most every FREE_MEMORY_EVERY_MS, one pread a node, from files it keeps
 * open, and never wakes up by itself. Loop thread only.
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
    int64_t at_s; /* when it was read */
    const struct free_memory_node *node;
    size_t count;
};

/* Opens the nodes' files below io; /proc/meminfo as node 0 where the kernel has no node directory.
 * clock is kept. ABSENT when neither is there, NO_MEMORY. */
enum berth_code free_memory_new(const struct files *io, const struct clock *clock,
                                struct free_memory **ret_memory, struct berth_err *err);
void free_memory_free(struct free_memory *memory); /* NULL is fine */

/* What is free; valid until the next call. Nothing for NULL: a recorded node has no free memory to
 * read. */
struct free_memory_view free_memory_read(struct free_memory *memory);

/* Of one node; -1 when unknown. */
int64_t free_memory_of(const struct free_memory_view *view, int32_t numa);
