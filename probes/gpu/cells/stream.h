/**
 * gpu_stream: BS1 to BS7 in each device's own memory. Each is measured as times over sizes with
 * both overheads, so that its curve gives T0, Wmax and B80. Sizes reach to the limit of the run's
 * buffers, at most 2 GiB moved; the last ones lie far beyond any cache. BS1 is in the quick
 * profile.
 */
#pragma once
#include "gpu/cells/run.h"
#include "gpu/cells/stream_operations.h"
#include "gpu/timing/work.h"

bool gpu_cells_stream(const struct gpu_run *run, struct gpu_cells *cells);

/* Operations of one test's curve, ascending by bytes, without duplicates. From 4 KiB on they are a
 * factor of four apart, then a quarter, half and all of the largest size. Returns their number, at
 * most GPU_WORKS_MAX. */
size_t gpu_cells_stream_sizes(int test, const struct gpu_memory *a, const struct gpu_memory *b,
                              struct gpu_bs *ret_bs);
