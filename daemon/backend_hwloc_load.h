/**
 * Loading an hwloc topology. hwloc's own gpu components stay off and its plugins unloaded: they pull drivers into the daemon and
 * cost most of the time of a load. What a recorded XML holds of them is read all the same.
 */
#pragma once
#include <hwloc.h>

#include "err.h"

/* Of this XML text (name is the file's, for errors), or of the running machine when xml is NULL. BAD_DATA says what is wrong with the
 * text. The caller ends the topology with hwloc_topology_destroy. Any thread. */
enum berth_code backend_hwloc_load(const char *xml, const char *name, hwloc_topology_t *ret_topology, struct berth_err *err);
