/**
 * Loading an hwloc topology. hwloc's own gpu components stay off and its plugins unloaded: they
 * pull drivers into the daemon and cost most of the time of a load. What a recorded XML holds of
 * them is read all the same.
 */
#pragma once
#include <hwloc.h>

#include "base/err.h"
#include "base/files.h"

/* What the root object of the running machine has beside hwloc's own infos, and an exported XML
 * then too: MemTotal of /proc/meminfo in bytes. */
#define BACKEND_HWLOC_MEMORY_INFO "BerthMemTotal"

/* Of this XML text (name is the file's, for errors), or of the running machine when xml is NULL;
 * only then is io looked at. BAD_DATA says what is wrong with the text. The caller ends the
 * topology with hwloc_topology_destroy. Any thread. */
enum berth_code backend_hwloc_load(const char *xml, const char *name, const struct files *io,
                                   hwloc_topology_t *ret_topology, struct berth_err *err);
