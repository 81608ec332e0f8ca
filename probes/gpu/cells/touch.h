/**
 * Managed memory in three uses. It stays with the host and is read and written there. It comes to
 * the device when touched (managed, and of malloc where the device reaches that). Host and device
 * write a buffer in turns. In the full profile, on the NUMA node next to the device.
 */
#pragma once
#include "gpu/cells/run.h"

bool gpu_cells_touch(const struct gpu_run *run, struct gpu_cells *cells);
