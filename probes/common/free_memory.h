/* The amount of memory that a probe may take. */
#pragma once
#include <stdint.h>

/* Bytes that a probe can take without danger: half of the least of three limits. First, the memory
 * that the kernel can give on NUMA node @numa: free, or held by caches that it drops. Second, the
 * available memory. Third, the cgroup's remaining allowance. The latter two are also divided by
 * @buffers. */
int64_t probe_room_bytes(const char *root, int numa, int buffers);
