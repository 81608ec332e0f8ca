/* memory_bandwidth of a device in its own memory over numbers of blocks. threads=1, 2, 4, ...
 * blocks up to twice its multiprocessors, otherwise launched as tuned. Measures read, write, and
 * copy, which counts the bytes read and the bytes written. */
#pragma once
#include "gpu/cells/run.h"

bool gpu_cells_blocks(const struct gpu_run *run, struct gpu_cells *cells);
