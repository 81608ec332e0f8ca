/**
 * How much memory the kernel could give on each NUMA node now: what is free and what it would get
 * back by dropping caches. Where only one node has memory that is MemAvailable of /proc/meminfo,
 * the kernel's own estimate; where several have, MemFree + Active(file) + Inactive(file) +
 * SReclaimable of the node, which is a little more than there is: the kernel keeps a reserve, and
 * files in use come back at once.
 *
 * It reads when asked, at most every MEMFREE_EVERY_MS, one pread a node, from files it keeps open,
 * and never wakes up by itself. Loop thread only.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define MEMFREE_EVERY_MS 100

struct clock;
struct sysio;
struct memfree;

struct memfree_node {
    int32_t numa;       /* the operating system's number */
    int64_t free_bytes; /* -1 unknown */
};

struct memfree_view {
    int64_t at_s; /* when it was read */
    const struct memfree_node *node;
    size_t count;
};

/* Opens the nodes' files below io; /proc/meminfo as node 0 where the kernel has no node directory.
 * clock is kept. ABSENT when neither is there, NO_MEMORY. */
enum berth_code memfree_new(const struct sysio *io, const struct clock *clock,
                            struct memfree **ret_memfree, struct berth_err *err);
void memfree_free(struct memfree *memfree); /* NULL is fine */

/* What is free; valid until the next call. Nothing for NULL: a recorded node has no free memory to
 * read. */
struct memfree_view memfree_read(struct memfree *memfree);

/* Of one node; -1 when unknown. */
int64_t memfree_of(const struct memfree_view *view, int32_t numa);
