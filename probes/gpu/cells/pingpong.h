/**
 * gpu_pingpong: round trips of a flag between kernels of two devices, and between a thread on a
 * NUMA node and a kernel. The flags are in each memory that both sides reach. 200 rounds are
 * discarded, then 2000 are timed by the device's clock (from's), or by the thread's.
 */
#pragma once
#include "gpu/cells/run.h"

bool gpu_cells_pingpong(const struct gpu_run *run, struct gpu_cells *cells);
