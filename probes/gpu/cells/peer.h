/* Copies and kernels between devices, and in each device's own memory: rates, curves and latency.
 */
#pragma once
#include "gpu/cells/run.h"

bool gpu_cells_peer(const struct gpu_run *run, struct gpu_cells *cells);

/* Whether two pairs of devices look alike: the same models, copy paths and distance on the bus, so
 * that one curve says what the other's is. */
bool gpu_cells_peer_alike(const struct gpu_node *node, int from, int to, int other_from,
                          int other_to);
