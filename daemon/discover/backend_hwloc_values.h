/**
 * The numbers of an hwloc topology: distances and memory attributes that firmware and drivers
 * state, and what berth noted in an XML that it exported.
 */
#pragma once
#include <hwloc.h>

#include "base/cpuset.h"
#include "discover/draft.h"

/* Those of the allowed cpus; NULL is none. */
struct cpuset backend_hwloc_cpuset(hwloc_const_bitmap_t bitmap, const struct cpuset *allowed);

/* Adds them to the draft, whose places are there already: place_of tells which one an object is,
 * PLACE_NONE none. */
void backend_hwloc_values(hwloc_topology_t topology, const struct cpuset *allowed,
                          struct draft *draft,
                          place_id (*place_of)(void *arg, struct hwloc_obj *obj), void *arg);
