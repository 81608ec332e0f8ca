/**
 * Facts of one GPU derived from its description in the graph. Pure; any thread.
 */
#pragma once
#include "node/graph.h"

enum gpu_vendor { VENDOR_UNKNOWN, VENDOR_AMD, VENDOR_NVIDIA };

/* From its "vendor" detail, else its uuid, else its model. */
enum gpu_vendor gpu_vendor(const struct place *gpu);

/* True for a slice of a device (MIG). */
bool gpu_is_slice(const struct place *gpu);

/* True when other gpus of the node are slices of this device. */
bool gpu_has_slices(const struct graph *graph, const struct place *device);

/* True for a device in MIG mode (NVIDIA): programs run on its slices, or nowhere where it has
 * none. */
bool gpu_is_cut(const struct graph *graph, place_id gpu);

/* True when the gpu is of a product whose processor and gpu have one memory. */
bool gpu_is_apu(const struct place *gpu);

/* Returns such a gpu that is attached to that NUMA node; PLACE_NONE if there is none.
 * The node's memory is then the gpu's own. */
place_id gpu_apu_at(const struct graph *graph, place_id numa);
