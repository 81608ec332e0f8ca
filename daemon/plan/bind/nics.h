/**
 * The nics next to a task, and the variables by which its libraries use them, where these are
 * surely right:
 *
 * - UCX_NET_DEVICES, of UCX, which Open MPI and MPICH are built on: the task's own InfiniBand and
 *   RoCE devices, each with its port ("mlx5_0:1").
 * - NCCL_IB_HCA, of NCCL and RCCL: the same in all tasks of a node, because each must see the same
 *   nics (NVIDIA/nccl, issue 1478: ranks that see different ones build rings that do not fit). It
 *   names exactly ("=") those next to any of the node's GPUs; NCCL takes the nearest to each.
 *
 * A device is known by its "verbs" name, "port_state", and "ports" where it has several. Devices
 * whose names say neither InfiniBand nor RoCE (EFA, iWARP, Omni-Path) are left out.
 *
 * Pure; any thread.
 */
#pragma once
#include "base/cpuset.h"
#include "base/err.h"
#include "node/graph.h"
#include "node/reasons.h"
#include "node/snapshot.h"

struct nics_of {
    const place_id *gpu; /* the nearest of them counts */
    size_t gpu_count;
    const struct cpuset *cpus; /* without gpus; so is memory, NONE unknown */
    place_id memory;
};

/* Lists all nics at the least distance, ascending by place; ret has room for all of the node. Where
 * a node has a fabric, its Ethernet ports are left out: they are for administration. */
size_t plan_bind_nics(const struct snapshot *snap, const struct nics_of *who, place_id *ret);

/* Returns the value of UCX_NET_DEVICES for a task with these nics, which the caller frees; NULL
 * where none would surely be right. Then warnings name the devices that are of these kinds.
 * NO_MEMORY. */
enum berth_code nics_ucx(const struct graph *graph, const place_id *nic, size_t count,
                         struct reasons *warnings, char **ret, struct berth_err *err);

/* Returns the value of NCCL_IB_HCA for all tasks with GPUs of this node, which the caller frees;
 * NULL where some GPU has no such device next to it, or none is active. NO_MEMORY. */
enum berth_code nics_nccl(const struct snapshot *snap, char **ret, struct berth_err *err);
