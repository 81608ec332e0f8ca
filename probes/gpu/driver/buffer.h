/**
 * The memory that cells work on: two buffers ("a" and "b") of each kind in each place. A buffer is
 * made at its first use and kept for the rest of the run. A failed one is not tried again: each
 * request gets the same why.
 *
 * Host memory is mapped, bound to its NUMA node, touched, and proven to be there
 * (gpu/driver/pages.h). Then it is made known to the runtime as its kind requires. Managed memory
 * is the runtime's and is touched by a thread that prefers the node.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/driver/node.h"

enum gpu_memory_kind {
    GPU_MEMORY_PINNED,
    GPU_MEMORY_COHERENT,    /* AMD */
    GPU_MEMORY_NONCOHERENT, /* AMD */
    GPU_MEMORY_PAGEABLE,    /* unknown to the runtime, which stages copies */
    GPU_MEMORY_MANAGED,     /* preferred on the host, read from there (zero copy) */
    GPU_MEMORY_MIGRATE,     /* managed, migrates to the processor that touches it */
    GPU_MEMORY_SYSTEM,      /* pageable, touched by kernels (ATS, HMM) */
    GPU_MEMORY_KIND_COUNT
};
/* Name of the kind as in the axis kind. */
const char *gpu_memory_kind_name(enum gpu_memory_kind kind);

struct gpu_memory {
    gpu_address address; /* address for kernels and copies of the requested device */
    void *host;          /* NULL: not reachable by the host */
    size_t bytes;
};

struct gpu_buffers;

/* Sizes in bytes of each host buffer and of each device buffer. host_bytes holds for pinned memory;
 * other kinds get at most 64 MiB. A buffer is smaller when it would take more than a quarter of the
 * free memory. */
bool gpu_buffers_new(struct gpu_node *node, size_t host_bytes, size_t device_bytes,
                     struct gpu_buffers **ret_buffers, struct probe_why *why);
void gpu_buffers_free(struct gpu_buffers *buffers); /* NULL is fine */

/* The node of the buffers, borrowed. */
const struct gpu_node *gpu_buffers_node(const struct gpu_buffers *buffers);

/* Own memory of a device, which = 0 or 1. The buffer may be smaller than requested in
 * gpu_buffers_new: see bytes. False sets why. The device is current for the calling thread
 * afterwards, here and below. */
bool gpu_buffers_device(struct gpu_buffers *buffers, int device, int which,
                        struct gpu_memory *ret_memory, struct probe_why *why);

/* Gives host memory on the node's numa[index], with its address for device. */
bool gpu_buffers_host(struct gpu_buffers *buffers, int numa_index, enum gpu_memory_kind kind,
                      int which, int device, struct gpu_memory *ret_memory, struct probe_why *why);
