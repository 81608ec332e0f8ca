/* The amount of memory that a probe may take. */
#pragma once
#include <stdint.h>

/* Bytes that a probe can take without danger: the least of three limits. They are half of the
 * memory that the kernel can give on NUMA node @numa (free, or held by caches that it drops), half
 * of the available memory, and half of the cgroup's remaining allowance. The latter two are also
 * divided by @buffers. */
int64_t probe_room_bytes(const char *root, int numa, int buffers);
