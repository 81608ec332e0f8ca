/* Copies and kernels between devices, and in each device's own memory: rates, curves and latency.
 */
#pragma once
#include "gpu/cells/run.h"

bool gpu_cells_peer(const struct gpu_run *run, struct gpu_cells *cells);

/* True when two pairs of devices are peers: the same models, copy paths and distance on the bus, so
 * that one curve holds for both. */
bool gpu_cells_peer_alike(const struct gpu_node *node, int from, int to, int other_from,
                          int other_to);
