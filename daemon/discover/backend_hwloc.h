/**
 * Parts of the backend hwloc: the load of a topology, and its numbers. The gpu components of hwloc
 * stay off and its plugins unloaded: they pull drivers into the daemon and cost most of the time of
 * a load. Their objects in a recorded XML are read all the same.
 */
#pragma once
#include <hwloc.h>

#include "base/cpuset.h"
#include "base/err.h"
#include "base/files.h"
#include "discover/draft.h"

/* An info that the root object of the running machine, and an exported XML, have beside hwloc's
 * own: MemTotal of /proc/meminfo in bytes. */
#define BACKEND_HWLOC_MEMORY_INFO "BerthMemTotal"

/* Loads the topology of an XML text (name is the file's, for errors), or of the running machine
 * when xml is NULL. The files of io are read only then. Fails with BAD_DATA, which names the error
 * of the text. The caller frees the topology with hwloc_topology_destroy. Any thread. */
enum berth_code backend_hwloc_load(const char *xml, const char *name, const struct files *io,
                                   hwloc_topology_t *ret_topology, struct berth_err *err);

/* discover/backend_hwloc_values.c: distances and memory attributes from firmware, drivers and an
 * XML that berth exported. */

/* Returns the allowed cpus of a bitmap; NULL is none. */
struct cpuset backend_hwloc_cpuset(hwloc_const_bitmap_t bitmap, const struct cpuset *allowed);

/* Adds these numbers to the draft, which has the places already. place_of returns the place of an
 * object, PLACE_NONE if it has none. */
void backend_hwloc_values(hwloc_topology_t topology, const struct cpuset *allowed,
                          struct draft *draft,
                          place_id (*place_of)(void *arg, struct hwloc_obj *obj), void *arg);
