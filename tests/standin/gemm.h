/**
 * The kernel of the stand-in libraries for cuBLAS and rocBLAS on a virtual node: "standin_gemm".
 */
#pragma once
#include <stdint.h>

/* c = a b, n x n each, of elements of so many bytes; speed is relative to single precision. */
struct standin_gemm_args {
    uint64_t a, b, c, n, bytes;
    double speed;
};
