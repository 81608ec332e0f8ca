/**
 * Copy calls on each kind of memory: kind_copy between any two kinds, by the call that returns at
 * once and the one that blocks. In the full profile, host memory on the NUMA node next to the
 * device.
 */
#pragma once
#include "gpu/cells/run.h"

bool gpu_cells_kinds(const struct gpu_run *run, struct gpu_cells *cells);
