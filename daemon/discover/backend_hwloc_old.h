/* Names that older hwloc lacks: RHEL 9 and Debian 11 have 2.4. */
#pragma once
#include <hwloc.h>

/* Number of an attribute that this hwloc does not have: no node has values of it, and it takes
 * none. */
#define BACKEND_HWLOC_NO_ATTRIBUTE ((hwloc_memattr_id_t)-1)

#if HWLOC_API_VERSION < 0x00020800
#define HWLOC_MEMATTR_ID_READ_BANDWIDTH  BACKEND_HWLOC_NO_ATTRIBUTE
#define HWLOC_MEMATTR_ID_WRITE_BANDWIDTH BACKEND_HWLOC_NO_ATTRIBUTE
#define HWLOC_MEMATTR_ID_READ_LATENCY    BACKEND_HWLOC_NO_ATTRIBUTE
#endif
