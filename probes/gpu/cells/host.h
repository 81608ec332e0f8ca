/* Copies and kernels between the host's NUMA nodes and the devices: rates, curves and latency. */
#pragma once
#include "gpu/cells/run.h"

bool gpu_cells_host(const struct gpu_run *run, struct gpu_cells *cells);
