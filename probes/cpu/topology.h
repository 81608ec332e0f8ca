/**
 * The node's topology for the CPU probe, read from sysfs: usable cores, their last-level caches,
 * NUMA nodes.
 *
 * Places have the same names as everywhere (daemon/node/graph.h). A core has the number of its
 * lowest pu. llcs are numbered from 0 by their lowest pu. NUMA nodes and pus have the operating
 * system's numbers. Numbers count every online CPU; the lists hold usable places only. An llc is
 * the data or unified cache of the highest level.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cpu_list.h"
#include "common/why.h"

/* llc and numa are indices into the lists below, -1 when unknown. */
struct cpu_core {
    int number;
    int pu;      /* the core's lowest usable pu; work for the core is pinned there */
    int sibling; /* the core's next usable pu, -1 none */
    int threads; /* online pus */
    int llc, numa;
};

struct cpu_llc {
    int number;
    int64_t bytes; /* -1 unknown */
    int numa;
    int cores;       /* usable ones */
    int other_cores; /* online cores without a usable pu */
    bool spans;      /* several NUMA nodes: cores of others than numa are attached to it */
};

struct cpu_numa {
    int number;
    int64_t memory_bytes; /* 0: none */
    bool allowed;         /* memory may be allocated on it */
    int cores;            /* usable ones */
    int other_cores;      /* online cores without a usable pu */
    int llcs;             /* number with usable cores that lie entirely in this node */
};

struct cpu_topology {
    struct cpu_core *cores; /* ascending by number */
    struct cpu_llc *llcs;
    struct cpu_numa *numas; /* nodes with memory or usable cores */
    int core_count, llc_count, numa_count;
    int64_t l2_bytes; /* size of the largest level-2 cache, -1 unknown */
    bool has_numa;    /* false: the kernel shows no NUMA nodes and all is taken as node 0 */
};

/* Reads the topology. @cpus: the CPUs this process may run on. @memory: the NUMA nodes that it may
 * allocate on; NULL is unknown, all are taken. Fails when no CPU is usable, files have unexpected
 * contents, or memory runs out. */
bool cpu_topology_read(const char *root, const struct cpu_list *cpus, const struct cpu_list *memory,
                       struct cpu_topology *ret_topology, struct probe_why *why);
void cpu_topology_done(struct cpu_topology *topology);

/* True when a usable core, an llc with one, or a NUMA node of the list has this name, as in
 * core12. */
bool cpu_topology_has(const struct cpu_topology *topology, const char *name);

/* Prints all those names, consecutive numbers as a range: "core0-3, core6, llc0, numa0-1". Cut to
 * fit. */
void cpu_topology_names(const struct cpu_topology *topology, char *ret_text, size_t size);

/* CPUs and memory that this process may use, from the scheduler and /proc/self/status.
 * *ret_memory_known: the latter names the memory. */
bool cpu_topology_allowed(struct cpu_list *ret_cpus, struct cpu_list *ret_memory,
                          bool *ret_memory_known, struct probe_why *why);
