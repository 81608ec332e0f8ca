/* Transfers between two places as flows: device, operation and memory. */
#pragma once
#include <stdbool.h>

#include "gpu/driver/buffer.h"
#include "gpu/timing/trial.h"

struct gpu_path {
    enum gpu_mechanism mechanism;
    enum gpu_operation operation; /* by kernel */
    enum gpu_memory_kind kind;    /* kind of the host's memory */
    /* between devices: by engine driven by the target, by kernel copied from to's memory into own
     */
    bool pulled;
    /* beside other flows: on a part of the buffers that no other flow of the same device touches */
    bool shared;
};

/* Makes the flow from place to place, at least one of them a device. By kernel between devices, and
 * in a device's own memory, from is the device whose kernel accesses to's memory. Else data go from
 * from to to. The flow has its op without bytes, and its span. False sets why: memory cannot be
 * had, no access between the devices, no kernels. */
bool gpu_path_flow(struct gpu_buffers *buffers, const struct gpu_path *path, int from, int to,
                   struct gpu_flow *ret_flow, struct probe_why *why);

/* Divides a device among kernels that run together. Else the first would fill it and the others
 * wait until it has ended. Each gets its part of the blocks that the device surely holds at once.
 * That is at most its part of its own grid, and at least one. Flows by engine, and the only kernel
 * of a device, stay unchanged. */
void gpu_path_divide(const struct gpu_node *node, struct gpu_flow *flows, size_t count);
