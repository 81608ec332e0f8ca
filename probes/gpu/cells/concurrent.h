/* Transfers that run at the same time: copies between the host and sets of devices, and copies
 * between devices that may share a link. */
#pragma once
#include "gpu/cells/run.h"

bool gpu_cells_sets(const struct gpu_run *run, struct gpu_cells *cells);

/* The sets of devices that copy to or from the host at once, as bit masks: each alone, each pair,
 * triples, all. Of the triples at most so many, drawn at random; of all sets at most max. Returns
 * how many there are in ret_masks. */
size_t gpu_cells_sets_host(int devices, size_t triples, struct probe_random *random, size_t max,
                           uint64_t *ret_masks);

/* Copies from device to device at the same time, from[i] to to[i]. */
struct gpu_cells_set {
    int count;
    int from[GPU_DEVICES_MAX], to[GPU_DEVICES_MAX];
};

/* Which devices copy to each other at the same time, in numbers that gpu_cells_sets_flows reads:
 * each pair alone; all at once, each to the next, to the next but one, and so on; and any two pairs
 * but a pair and its opposite (direction=both is that). Of the last at most max, drawn at random.
 * Returns how many there are, NULL when out of memory; the caller frees them. */
int64_t *gpu_cells_sets_peer(int devices, size_t max, struct probe_random *random,
                             size_t *ret_count);
struct gpu_cells_set gpu_cells_sets_flows(int64_t number, int devices);

/* All devices to one, and one to all the others, for each: in numbers of the same kind, at most
 * twice as many as devices. Of two devices both are what a pair alone is; then only what the target
 * drives, which no pair is measured with, comes once for each. Returns how many there are. */
size_t gpu_cells_sets_fans(int devices, bool pulled, int64_t *ret_numbers);
