/**
 * Locality of places: NUMA nodes, packages, and distances between them. Pure; any thread.
 */
#pragma once
#include "base/cpuset.h"
#include "node/graph.h"
#include "node/snapshot.h"

/* Returns all cpus of the node. */
void locality_cpus(const struct graph *graph, struct cpuset *ret_cpus);

/* Returns the NUMA node that a place is in or nearest to; for a package only when it has exactly
 * one. PLACE_NONE when unknown or ambiguous. */
place_id locality_numa(const struct graph *graph, place_id id);

/* Returns the nearest place of a kind at or above id, PLACE_NONE when there is none. */
place_id locality_above(const struct graph *graph, place_id id, enum place_kind kind);

/* Returns the firmware's distance between two NUMA nodes, in either direction; NULL when not
 * stated. */
const struct value *locality_numa_distance(const struct snapshot *snap, place_id a, place_id b);

/* Returns the distance of two places, only for sorting. It is 0 when they share cpus (a gpu and the
 * llc to which it is attached) and 10 when they share a NUMA node. Otherwise it is the firmware's
 * distance between their NUMA nodes, else 20 in one package, 30 elsewhere. */
double locality_distance(const struct snapshot *snap, place_id a, place_id b);
