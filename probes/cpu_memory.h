/**
 * A large buffer on one NUMA node: on huge pages where there are any, bound by mbind, filled by threads, and proven to lie there
 * by asking move_pages where a sample of its pages is.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu_topology.h"
#include "cpu_workers.h"

enum cpu_pages { CPU_PAGES_SMALL, CPU_PAGES_TRANSPARENT, CPU_PAGES_HUGETLB };

/* What is known of where the pages are. */
enum cpu_placement {
    CPU_PLACEMENT_PROVEN, /* move_pages found every sampled page on the node */
    CPU_PLACEMENT_BOUND,  /* mbind worked, move_pages is not permitted */
    CPU_PLACEMENT_ONLY,   /* mbind is not permitted, but there is only one node with memory */
};

struct cpu_memory {
    char *base;
    size_t bytes; /* that may be used: filled with pages */
    char *start;  /* this and mapped are private to cpu_memory.c */
    size_t mapped;
    enum cpu_pages pages;
    double huge_share; /* of the bytes that lie on huge pages, 0 to 1 */
    enum cpu_placement placement;
};

/* How much memory may be taken without danger: half of what is free on the node, of what is available, and of what the cgroup
 * allows, whichever is least, and the latter two divided by @buffers. */
int64_t cpu_memory_limit(const char *root, const struct cpu_numa *numa, int buffers);

/* How much, and how long filling it may take: after soft_ns of the clock it stops when it has least bytes, after hard_ns anyway.
 */
struct cpu_memory_request {
    size_t wanted, least;
    int64_t soft_ns, hard_ns;
};

/* The buffer may have fewer bytes than wanted when time ran out. Fails when the node may not be allocated on, pages are not where
 * they should be, or there is no memory. *ret_overrun as in cpu_workers_run. */
bool cpu_memory_new(const struct cpu_topology *topology, int numa, const struct cpu_memory_request *request,
                    struct cpu_workers *workers, struct cpu_memory *ret_memory, bool *ret_overrun, struct probe_why *why);
void cpu_memory_done(struct cpu_memory *memory);

const char *cpu_pages_name(enum cpu_pages pages);
const char *cpu_placement_name(enum cpu_placement placement);
