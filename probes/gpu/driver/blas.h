/**
 * The matrix product of the vendor's library, looked up at run time: cuBLAS for CUDA, rocBLAS for
 * HIP. Row order, no transposes. Sums are of single precision, of double precision for GPU_FP64.
 *
 * A library is used by one thread at a time.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/driver/node.h"

struct gpu_blas;

/* Elements of the matrices. GPU_TF32 are floats that the library may round to 10 bits. */
enum gpu_blas_type { GPU_FP32, GPU_TF32, GPU_FP16, GPU_BF16, GPU_FP64, GPU_BLAS_TYPES };
const char *gpu_blas_type_name(enum gpu_blas_type type); /* "fp32" */
size_t gpu_blas_type_bytes(enum gpu_blas_type type);

/* Makes the library's handle for the node's device, and makes the device current. False: the
 * library is absent or does not start; why gives the reason. */
bool gpu_blas_new(const struct gpu_node *node, int device, struct gpu_blas **ret_blas,
                  struct probe_why *why);
void gpu_blas_free(struct gpu_blas *blas); /* NULL is fine */

/* Name under which the library was opened, "libcublas.so.13". */
const char *gpu_blas_library(const struct gpu_blas *blas);

/* False when the library has no product of that type; why says so. */
bool gpu_blas_has(const struct gpu_blas *blas, enum gpu_blas_type type, struct probe_why *why);

/* Enqueues c = a b, n x n each, of a type that it has. Returns 0, or the library's code. */
int gpu_blas_product(struct gpu_blas *blas, enum gpu_blas_type type, gpu_address a, gpu_address b,
                     gpu_address c, uint64_t n, gpu_stream stream);
