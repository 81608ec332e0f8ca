/**
 * memory_latency of a device: dependent loads in its own memory, in other devices' and in the
 * host's, over sizes and far beyond the caches.
 *
 * A slot of GPU_CHASE_STRIDE bytes gives one line of GPU_CHASE_LINE to the cycle; bytes counts
 * lines. A cycle that a cache might hold is walked once before it is timed. Before that walk, the
 * memory's owner pushes the lines left from building the cycle out of its cache. A larger cycle
 * continues at the end of the last piece, so that a line returns only after all others. The value
 * is the lowest decile over pieces of the walk.
 */
#pragma once
#include "gpu/cells/run.h"
#include "gpu/driver/gpu_kernels.h"

bool gpu_cells_chase(const struct gpu_run *run, struct gpu_cells *cells);

/* Measured sizes, in bytes of lines, up to most. From 8 KiB, two an octave, or, few, from 32 KiB,
 * one every second octave. Returns their number, at most GPU_CELLS_CHASE_SIZES. */
#define GPU_CELLS_CHASE_SIZES 64
size_t gpu_cells_chase_sizes(uint64_t most, bool few, uint64_t *ret_bytes);

/* Bytes of lines that represent memory itself: four times the cache, or as many as a buffer of that
 * size holds. 0: too few to be beyond the cache. */
uint64_t gpu_cells_chase_beyond(uint64_t cache, uint64_t buffer_bytes);
