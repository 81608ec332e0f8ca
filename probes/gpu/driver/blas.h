/**
 * The matrix product of the vendor's library, looked up at run time: cuBLAS for CUDA, rocBLAS for
 * HIP. Single precision, row order, no transposes, no reduced precision unless the library's
 * defaults have it.
 *
 * A library is used by one thread at a time.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "gpu/driver/node.h"

struct gpu_blas;

/* Makes the library's handle for the node's device, and makes the device current. False: the
 * library is absent or does not start; why gives the reason. */
bool gpu_blas_new(const struct gpu_node *node, int device, struct gpu_blas **ret_blas,
                  struct probe_why *why);
void gpu_blas_free(struct gpu_blas *blas); /* NULL is fine */

/* Name under which the library was opened, "libcublas.so.13". */
const char *gpu_blas_library(const struct gpu_blas *blas);

/* Enqueues c = a b, n x n each. Returns 0, or the library's code. */
int gpu_blas_product(struct gpu_blas *blas, gpu_address a, gpu_address b, gpu_address c, uint64_t n,
                     gpu_stream stream);
