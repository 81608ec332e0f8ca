/**
 * A large buffer on one NUMA node, bound by mbind and filled by threads. It uses huge pages where
 * there are any, else few small ones. move_pages proves the place of a sample of its pages.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu/topology.h"
#include "cpu/workers.h"

enum cpu_pages { CPU_PAGES_SMALL, CPU_PAGES_TRANSPARENT, CPU_PAGES_HUGETLB };

/* Evidence for the place of the pages. */
enum cpu_placement {
    CPU_PLACEMENT_PROVEN, /* move_pages found every sampled page on the node */
    CPU_PLACEMENT_BOUND,  /* mbind worked, move_pages is not permitted */
    CPU_PLACEMENT_ONLY,   /* mbind is not permitted, but there is only one node with memory */
};

struct cpu_memory {
    char *base;
    size_t bytes; /* usable bytes: filled with pages */
    char *start;  /* this and mapped are private to cpu/memory.c */
    size_t mapped;
    enum cpu_pages pages;
    size_t small_bytes; /* bytes on small pages */
    double huge_share;  /* fraction of the bytes on huge pages, 0 to 1 */
    enum cpu_placement placement;
};

/* Bytes of small pages that the kernel takes back within limit_ns, by a trial of a few
 * milliseconds. A process that ends is gone only when its pages are. That takes 50 to 150 ms a GiB
 * on small pages, 2 to 4 on huge ones. */
int64_t cpu_memory_small_limit(int64_t limit_ns);

/* Place and size of the buffer, its filling threads, and limits of the filling. After soft_ns of
 * the clock, filling stops once it has least bytes. It stops in any case after hard_ns, and before
 * more than small_limit bytes lie on small pages. */
struct cpu_memory_request {
    int numa;                    /* index in the topology */
    struct cpu_workers *workers; /* borrowed */
    size_t requested, least;
    int64_t soft_ns, hard_ns;
    int64_t small_limit;
};

/* The buffer may have fewer bytes than requested, when time or the allowance of small pages ran
 * out. Fails when the node may not be allocated on, pages are in the wrong place, or there is no
 * memory. *ret_overrun as in cpu_workers_run. */
bool cpu_memory_new(const struct cpu_topology *topology, const struct cpu_memory_request *request,
                    struct cpu_memory *ret_memory, bool *ret_overrun, struct probe_why *why);
void cpu_memory_done(struct cpu_memory *memory);

const char *cpu_pages_name(enum cpu_pages pages);
const char *cpu_placement_name(enum cpu_placement placement);
