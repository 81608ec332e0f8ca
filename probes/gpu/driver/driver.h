/**
 * Folder probes/gpu/driver: the door to CUDA and HIP: one interface for both, kernels, buffers,
 *   devices.
 *
 * Main types: struct gpu_api, struct gpu_node, struct gpu_memory.
 * Uses: common
 * Public headers: api.h blas.h buffer.h collective.h driver.h gpu_kernels.h image.h node.h
 *   pages.h sampling.h
 * Shown by: tests/unit/gpu/driver
 */
#pragma once
