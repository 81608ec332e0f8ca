/* Finds how streaming kernels are launched best (gpu_tune.h), for the models that are not tuned: every shape once, the best of
 * them again. */
#pragma once
#include "gpu_run.h"

bool gpu_cells_tune(const struct gpu_run *run, struct gpu_cells *cells);

/* A shape and the times it took. */
#define GPU_CELLS_TUNE_TIMES 5
struct gpu_cells_try {
    struct gpu_shape shape;
    unsigned order; /* of the list: what comes first is taken when others are as fast */
    double ns[GPU_CELLS_TUNE_TIMES];
    unsigned count;
};

/* Which shapes are tried on a device with so many multiprocessors, those first that are taken where all are as fast: as many
 * blocks as bytes need or, where stays is set, blocks that go round. Returns how many. */
#define GPU_CELLS_TRIES_MAX 96
size_t gpu_cells_tune_shapes(int multiprocessors, bool stays, struct gpu_cells_try *ret_tries);

/* The index of the best by median: of those that are as fast within 0.7 percent, which is how far two medians of one shape may be
 * apart, the first of the list, so that another run finds the same. count is at least 1. */
size_t gpu_cells_tune_best(const struct gpu_cells_try *tries, size_t count);
