/**
 * The numbers of an hwloc topology: distances and memory attributes from firmware, drivers and an
 * XML that berth exported.
 */
#pragma once
#include <hwloc.h>

#include "base/cpuset.h"
#include "discover/draft.h"

/* Returns the allowed cpus of a bitmap; NULL is none. */
struct cpuset backend_hwloc_cpuset(hwloc_const_bitmap_t bitmap, const struct cpuset *allowed);

/* Adds the numbers to the draft, which has the places already. place_of returns the place of an
 * object, PLACE_NONE if it has none. */
void backend_hwloc_values(hwloc_topology_t topology, const struct cpuset *allowed,
                          struct draft *draft,
                          place_id (*place_of)(void *arg, struct hwloc_obj *obj), void *arg);
