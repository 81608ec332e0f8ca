/* Finds the fastest launch of streaming kernels (gpu/timing/launch_shapes.h) for untuned models.
 * Tries every shape once, and the best of them again. */
#pragma once
#include "gpu/cells/run.h"

bool gpu_cells_tune(const struct gpu_run *run, struct gpu_cells *cells);

/* A shape and its times. */
#define GPU_CELLS_TUNE_TIMES 5
struct gpu_cells_try {
    struct gpu_shape shape;
    unsigned order; /* position in the list: among equally fast ones the first is taken */
    double ns[GPU_CELLS_TUNE_TIMES];
    unsigned count;
};

/* Shapes to try on a device with this many multiprocessors, in order of preference. They have as
 * many blocks as the bytes need, blocks that loop, or many of those. Returns their number. */
#define GPU_CELLS_TRIES_MAX 96
enum gpu_cells_grid {
    GPU_CELLS_GRID_NEEDED,
    GPU_CELLS_GRID_STAYS,
    GPU_CELLS_GRID_WAVES,
    GPU_CELLS_GRID_COUNT
};
size_t gpu_cells_tune_shapes(int multiprocessors, enum gpu_cells_grid first,
                             struct gpu_cells_try *ret_tries);

/* Index of the best by median. Shapes within 1.2 percent count as equally fast, more than two
 * medians of one shape differ. Among these it takes the first of the list, so that another run
 * finds the same. count is at least 1. */
size_t gpu_cells_tune_best(const struct gpu_cells_try *tries, size_t count);
