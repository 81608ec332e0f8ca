/**
 * matrix_product: c = a b in single precision by a device. Its operands are in its own memory, and
 * in that of each other device and NUMA node: one of them there, or all three. Computed by a kernel
 * of the probe, and by the vendor's library where it is found.
 */
#pragma once
#include "gpu/cells/run.h"

bool gpu_cells_product(const struct gpu_run *run, struct gpu_cells *cells);

/* Side of matrices of which two fit these bytes: 4096, halved until they do. 0: even
 * GPU_PRODUCT_TILE does not fit. */
uint64_t gpu_cells_product_side(uint64_t bytes);
