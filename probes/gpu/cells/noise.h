/**
 * A device that reads or writes the host's memory while the host's cores read it. The device's rate
 * is memory_bandwidth with noise=numa, the cores' rate is memory_noise. In the full profile, on the
 * NUMA node next to the device.
 */
#pragma once
#include "gpu/cells/run.h"

bool gpu_cells_noise(const struct gpu_run *run, struct gpu_cells *cells);
