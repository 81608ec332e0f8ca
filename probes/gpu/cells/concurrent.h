/* Transfers at the same time: copies between the host and sets of devices, and copies between
 * devices that may share a link. */
#pragma once
#include "gpu/cells/run.h"

bool gpu_cells_sets(const struct gpu_run *run, struct gpu_cells *cells);

/* Sets of devices that copy to or from the host at once, as bit masks: each alone, each pair,
 * triples, all. At most @triples triples, drawn at random, and at most max sets. Returns the number
 * of ret_masks. */
size_t gpu_cells_sets_host(int devices, size_t triples, struct probe_random *random, size_t max,
                           uint64_t *ret_masks);

/* Copies from device to device at the same time, from[i] to to[i]. */
struct gpu_cells_set {
    int count;
    int from[GPU_DEVICES_MAX], to[GPU_DEVICES_MAX];
};

/* Sets of devices that copy to each other at the same time, as numbers for gpu_cells_sets_flows.
 * First each pair alone; then all at once, each to the next, to the next but one, and so on. Last,
 * any two pairs but a pair and its opposite (direction=both is that): at most max, drawn at random.
 * Returns their number, NULL when out of memory; the caller frees them. */
int64_t *gpu_cells_sets_peer(int devices, size_t max, struct probe_random *random,
                             size_t *ret_count);
struct gpu_cells_set gpu_cells_sets_flows(int64_t number, int devices);

/* Sets of all devices to one, and of one to all the others, for each device. Numbers of the same
 * kind, at most twice as many as devices. With two devices, both equal a pair alone. Then only
 * copies that the target drives, which no pair has, come once for each. Returns their number. */
size_t gpu_cells_sets_fans(int devices, bool pulled, int64_t *ret_numbers);
