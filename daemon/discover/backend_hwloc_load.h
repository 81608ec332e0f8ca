/**
 * Loads an hwloc topology. The gpu components of hwloc stay off and its plugins unloaded: they pull
 * drivers into the daemon and cost most of the time of a load. Their objects in a recorded XML are
 * read all the same.
 */
#pragma once
#include <hwloc.h>

#include "base/err.h"
#include "base/files.h"

/* An info that the root object of the running machine, and an exported XML, have beside hwloc's
 * own: MemTotal of /proc/meminfo in bytes. */
#define BACKEND_HWLOC_MEMORY_INFO "BerthMemTotal"

/* Loads the topology of an XML text (name is the file's, for errors), or of the running machine
 * when xml is NULL. The files of io are read only then. Fails with BAD_DATA, which names the error
 * of the text. The caller frees the topology with hwloc_topology_destroy. Any thread. */
enum berth_code backend_hwloc_load(const char *xml, const char *name, const struct files *io,
                                   hwloc_topology_t *ret_topology, struct berth_err *err);
