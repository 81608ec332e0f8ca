/**
 * Time until a program can use memory of the host, on the NUMA node next to each device. Kinds are
 * ordinary memory, each page of which one thread touches, and memory that the driver pins. In the
 * full profile.
 */
#pragma once
#include "gpu/cells/run.h"

bool gpu_cells_allocation(const struct gpu_run *run, struct gpu_cells *cells);
