/**
 * How long memory of the host takes until a program can use it, on the NUMA node next to each
 * device: ordinary memory, each page of which is touched by one thread, and memory that the driver
 * pins. In the full profile.
 */
#pragma once
#include "gpu/cells/run.h"

bool gpu_cells_allocation(const struct gpu_run *run, struct gpu_cells *cells);
