/* Finds how streaming kernels are launched best (gpu/timing/launch_shapes.h), for the models that
 * are not tuned: every shape once, the best of them again. */
#pragma once
#include "gpu/cells/run.h"

bool gpu_cells_tune(const struct gpu_run *run, struct gpu_cells *cells);

/* A shape and the times it took. */
#define GPU_CELLS_TUNE_TIMES 5
struct gpu_cells_try {
    struct gpu_shape shape;
    unsigned order; /* of the list: what comes first is taken when others are as fast */
    double ns[GPU_CELLS_TUNE_TIMES];
    unsigned count;
};

/* Which shapes are tried on a device with so many multiprocessors, those first that are taken where
 * all are as fast: as many blocks as bytes need, blocks that go round, or many of those. Returns
 * how many. */
#define GPU_CELLS_TRIES_MAX 96
enum gpu_cells_grid {
    GPU_CELLS_GRID_NEEDED,
    GPU_CELLS_GRID_STAYS,
    GPU_CELLS_GRID_WAVES,
    GPU_CELLS_GRID_COUNT
};
size_t gpu_cells_tune_shapes(int multiprocessors, enum gpu_cells_grid first,
                             struct gpu_cells_try *ret_tries);

/* The index of the best by median: of those that are as fast within 1.2 percent, more than two
 * medians of one shape are apart, the first of the list, so that another run finds the same. count
 * is at least 1. */
size_t gpu_cells_tune_best(const struct gpu_cells_try *tries, size_t count);
