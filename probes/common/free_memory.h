/* How much memory a probe may take. */
#pragma once
#include <stdint.h>

/* Without danger: half of what the kernel can give on the NUMA node of that number (free, or held
 * by caches that it drops), of what is available, and of what the cgroup allows, whichever is
 * least, and the latter two divided by @buffers. */
int64_t probe_room_bytes(const char *root, int numa, int buffers);
