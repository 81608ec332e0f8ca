/**
 * The nearness of places: NUMA nodes, packages, and distances between them. Pure; any thread.
 */
#pragma once
#include "base/cpuset.h"
#include "node/graph.h"
#include "node/snapshot.h"

/* All cpus of the node. */
void locality_cpus(const struct graph *graph, struct cpuset *ret_cpus);

/* The NUMA node a place is in or nearest to; a package's when it has one only. PLACE_NONE when
 * unknown or ambiguous. */
place_id locality_numa(const struct graph *graph, place_id id);

/* The nearest place of a kind at or above id, PLACE_NONE when there is none. */
place_id locality_above(const struct graph *graph, place_id id, enum place_kind kind);

/* The firmware's distance between two NUMA nodes, in either direction; NULL when not stated. */
const struct value *locality_numa_distance(const struct snapshot *snap, place_id a, place_id b);

/* How far apart two places are, for putting them in order and nothing else: 0 they share cpus (a
 * gpu and the llc it hangs on), 10 they share a NUMA node, else the firmware's distance between
 * their NUMA nodes, else 20 in one package, 30 elsewhere. */
double locality_distance(const struct snapshot *snap, place_id a, place_id b);
