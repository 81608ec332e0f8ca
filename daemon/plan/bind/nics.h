/**
 * The nics next to a task. Where a node has a fabric, its Ethernet ports are for administration and
 * left aside.
 *
 * Pure; any thread.
 */
#pragma once
#include "base/cpuset.h"
#include "node/graph.h"
#include "node/snapshot.h"

struct nics_of {
    const place_id *gpu; /* the nearest of them counts */
    size_t gpu_count;
    const struct cpuset *cpus; /* without gpus; so is memory, NONE unknown */
    place_id memory;
};

/* All at the least distance, ascending by place; ret has room for all of the node. */
size_t plan_bind_nics(const struct snapshot *snap, const struct nics_of *who, place_id *ret);
