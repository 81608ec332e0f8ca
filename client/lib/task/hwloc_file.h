/**
 * The file by which hwloc in tasks loads the node instead of discovering it: the daemon keeps it
 * beside its socket. Its format is that of hwloc 2, which hwloc 1 refuses, and a program's
 * discovery then fails. So the variables choose the file for hwloc 2 and later, and the system for
 * hwloc 1: that one prefers HWLOC_FSROOT to HWLOC_XMLFILE, the others ignore both beside
 * HWLOC_COMPONENTS, and their component xml reads HWLOC_XMLFILE itself.
 */
#pragma once
#include <stdbool.h>

#include "lib/berth.h"

#define LIB_HWLOC_VARIABLES 5
#define LIB_HWLOC_PATH_SIZE 1024

struct lib_hwloc {
    char path[LIB_HWLOC_PATH_SIZE];
    struct berth_pair variable[LIB_HWLOC_VARIABLES]; /* borrow from path and from constants */
};

/* Gives the variables, in an order of which each beginning is harmless. By them hwloc loads the
 * file beside a socket (NULL: as berth_connect), and allows no cpus but those of the task's cpuset.
 * False where they must not be set: variables of hwloc's are set already, or there is no such file
 * of root, of this user or of the owner of its folder, that no one else may write. variable: as for
 * berth_launcher_here. */
bool lib_hwloc_find(const char *socket, berth_variable_fn *variable, void *arg,
                    struct lib_hwloc *ret);
