/* A cell: one measurement of a run. Also the caller's selection of cells. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/metric.h"
#include "cpu/bandwidth.h"
#include "cpu/topology.h"

enum cpu_profile { CPU_QUICK, CPU_FULL };

/* Phases share the time: a phase's cells are measured until the share of the budget at which the
 * phase ends is spent. */
enum cpu_phase {
    CPU_PHASE_BANDWIDTH,
    CPU_PHASE_LATENCY,
    CPU_PHASE_PINGPONG,
    CPU_PHASE_HANDOFF, /* copies and queues */
    CPU_PHASE_DETAIL,
    CPU_PHASE_COUNT
};

/* Between two llcs, quick measures one pair and checks it by another, drawn at random. When they
 * differ, it measures all pairs. */
enum cpu_role {
    CPU_ROLE_PLAIN,
    CPU_ROLE_FIRSTS, /* between the lowest cores of two llcs */
    CPU_ROLE_CHECK,  /* a second pair of cores of the same two llcs */
    CPU_ROLE_SPARE   /* further pairs of cores, measured only when the first two differ */
};

/* Concurrent readers of the target memory: one other core of the initiator's NUMA node, or all
 * cores of another node. That node is the memory's own, or else the next one that has cores. */
enum cpu_noise_kind { CPU_NOISE_NONE, CPU_NOISE_CORE, CPU_NOISE_NUMA };

struct cpu_cell {
    enum probe_metric metric;
    enum cpu_phase phase;
    int rank;               /* order within the phase, lower first */
    char from[16], to[16];  /* place names */
    int from_core, to_core; /* pairs: indices of cores; equal indices: the core's two threads */
    enum cpu_role role;     /* ping-pong */
    int llc, numa;          /* memory: the initiator, one of them -1 */
    int memory;             /* memory: index of the target */
    bool cas;               /* ping-pong */
    /* queue: the reader's rate; the cell before is the writer's of the same pair */
    bool reader;
    enum cpu_direction direction; /* bandwidth */
    int threads;                  /* bandwidth: a number of cores; 0 all of the initiator's */
    /* bandwidth of all cores: number of unusable cores, for which the cell is skipped */
    int other_cores;
    /* latency: bytes of the visited lines; 0 far above the caches. copy: bytes of the cache that
     * sizes exceed */
    int64_t bytes;
    enum cpu_noise_kind noise; /* memory */
    /* metric of the cell before this one, beside which memory_noise was read */
    enum probe_metric beside;
};

struct cpu_cells {
    struct cpu_cell *item;
    size_t count, capacity;
};

/* The caller's selection; no places means all. */
struct cpu_selection {
    enum cpu_profile profile;
    uint64_t seed;
    bool metrics[PROBE_METRIC_COUNT];
    /* names of places: cells from or to one of them; an unknown name matches nothing */
    const char *const *places;
    size_t place_count;
    const char *const *without; /* names of places without cells from or to them */
    size_t without_count;
};
