/**
 * What one run of the probe measures: a list of cells, most needed first. Pure: topology, profile and seed say it all.
 *
 * Initiators. Latency: each llc with usable cores, by its lowest core; a NUMA node whose cores have no known llc stands for
 * itself. Bandwidth: each NUMA node with cores, and, where a node has several llcs, each llc too. Targets are all NUMA nodes with
 * memory.
 *
 * quick: bandwidth of all cores, own memory first, and latency, one llc of each node first; ping-pong by store between neighbours
 * in each llc, between all cores of llcs that have at most 16, and a random sample of the rest, and between the lowest cores of
 * the llcs; then bandwidth over core counts and of llcs. full: everything over every ordered pair and core count, both ways of
 * ping-pong, latency over buffer sizes.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu_bandwidth.h"
#include "cpu_topology.h"
#include "probe_metric.h"

enum cpu_profile { CPU_QUICK, CPU_FULL };

/* Phases share the time: a phase's cells are measured until the share of the budget at which the phase ends is spent. */
enum cpu_phase { CPU_PHASE_BANDWIDTH, CPU_PHASE_LATENCY, CPU_PHASE_PINGPONG, CPU_PHASE_DETAIL, CPU_PHASE_COUNT };

struct cpu_cell {
    enum probe_metric metric;
    enum cpu_phase phase;
    int rank;                     /* within the phase, lower comes first */
    char from[16], to[16];        /* place names */
    int from_core, to_core;       /* ping-pong: indices of cores */
    int llc, numa;                /* memory: the initiator, one of them -1 */
    int memory;                   /* memory: index of the target */
    bool cas;                     /* ping-pong */
    enum cpu_direction direction; /* bandwidth */
    int threads;                  /* bandwidth: a number of cores; 0 all of the initiator's, and all may be used */
    int64_t bytes;                /* latency: of the lines that are visited; 0 far above the caches */
};

struct cpu_cells {
    struct cpu_cell *item;
    size_t count, capacity;
};

/* What the caller asked for; no places means all. */
struct cpu_wanted {
    enum cpu_profile profile;
    uint64_t seed;
    bool metrics[PROBE_METRIC_COUNT];
    const char *const *places; /* cells from or to one of these; a name that is none here matches nothing */
    size_t place_count;
};

/* Fails when out of memory. */
bool cpu_cells_new(const struct cpu_topology *topology, const struct cpu_wanted *wanted, struct cpu_cells *ret_cells,
                   struct probe_why *why);
void cpu_cells_done(struct cpu_cells *cells);

/* The cores of a cell's initiator, in an order in which any first n lie spread over its llcs. Returns their number;
 * pus has room for topology->core_count. */
unsigned cpu_cells_pus(const struct cpu_topology *topology, const struct cpu_cell *cell, int *ret_pus);
