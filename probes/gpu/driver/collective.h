/**
 * Collectives of the vendor's library, NCCL or RCCL, which have the same calls. Looked up at run
 * time, with declarations of our own.
 *
 * NVLink multicast is kept off: using it can put a whole node's GPUs out of service.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "common/why.h"
#include "gpu/driver/api.h"

enum gpu_collective_operation {
    GPU_COLLECTIVE_ALLREDUCE,
    GPU_COLLECTIVE_ALLGATHER,
    GPU_COLLECTIVE_REDUCESCATTER,
    GPU_COLLECTIVE_BROADCAST,
    GPU_COLLECTIVE_REDUCE,
    GPU_COLLECTIVE_OPERATION_COUNT
};
/* Name of the operation as in the axis operation. */
const char *gpu_collective_name(enum gpu_collective_operation operation);

/* Sets the libraries' environment variables: no multicast, the loopback interface alone, and no
 * output on standard output. Call first in main, before threads. */
void gpu_collective_environment(void);

struct gpu_collective;       /* the library */
struct gpu_collective_group; /* members that act together */

/* False when the library is not there, lacks a call, or multicast is not off. It stays loaded. */
bool gpu_collective_new(const struct gpu_api *api, struct gpu_collective **ret_collective,
                        struct probe_why *why);
void gpu_collective_free(struct gpu_collective *collective); /* NULL is fine */

/* api_devices are the runtime's numbers; the contexts of these devices are the runtime's own ones
 * (gpu/driver/api.h, open). Takes a second or so. */
bool gpu_collective_join(const struct gpu_collective *collective, const int *api_devices,
                         int members, struct gpu_collective_group **ret_group,
                         struct probe_why *why);
/* Call it when no operation of the group is under way, unless a call failed. After a failure it
 * aborts the pending operations. NULL is fine. */
void gpu_collective_leave(struct gpu_collective_group *group);

/* Bytes that a collective of this nominal size really moves: sizes that do not divide are rounded
 * up. A buffer of this size is whole: the result of an all-gather, the source of a reduce-scatter,
 * both buffers of the others. */
uint64_t gpu_collective_bytes(enum gpu_collective_operation operation, uint64_t bytes, int members);

/* Enqueues one on the streams, one a member. bytes is by gpu_collective_bytes. Root is the first
 * member; sums are of floats. After a failure the group can only be left. */
bool gpu_collective_enqueue(struct gpu_collective_group *group,
                            enum gpu_collective_operation operation, const gpu_address *sources,
                            const gpu_address *targets, uint64_t bytes, const gpu_stream *streams,
                            struct probe_why *why);
