/**
 * Cells of the group collective: latency and bandwidth of the operations of NCCL or RCCL over the
 * first 2, 3, ... usable devices. The members' buffers are in their own memory, in the next
 * member's, and in host memory.
 */
#pragma once
#include <stdbool.h>

#include "gpu/cells/run.h"

/* Adds one cell for each metric and number of members, in the full profile. */
bool gpu_cells_collective(const struct gpu_run *run, struct gpu_cells *cells);
