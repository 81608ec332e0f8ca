/**
 * Managed memory that stays with the host and is read and written there; memory that comes to the
 * device when it is touched (managed, and of malloc where the device reaches that); and a buffer
 * that host and device write in turns. In the full profile, on the NUMA node next to the device.
 */
#pragma once
#include "gpu/cells/run.h"

bool gpu_cells_touch(const struct gpu_run *run, struct gpu_cells *cells);
