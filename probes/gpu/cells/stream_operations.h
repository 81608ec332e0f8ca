/**
 * The streaming operations BS1 to BS7 over two buffers of a device: places of operands, bytes
 * moved, launch. BS6 and BS7 are over a mesh of elements of a degree. The first half is pure.
 *
 * Source of the count of bytes: N. Chalmers and T. Warburton, "Portable high-order finite element
 * kernels I: Streaming Operations", and their streamParanumal. Each vector counts once for being
 * read and once for being written. BS6 and BS7 count the values on both sides, a 4-byte index for
 * each node of an element, and the rows' starts. Partial sums are not counted.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "gpu/driver/buffer.h"
#include "gpu/driver/gpu_kernels.h"
#include "gpu/driver/node.h"

#define GPU_BS_TESTS   7
#define GPU_BS_MESH    6 /* the first test that has a degree */
#define GPU_BS_DEGREE  7 /* the usual one */
#define GPU_BS_DEGREES 15

struct gpu_bs {
    int test;       /* 1 ... GPU_BS_TESTS */
    uint64_t bytes; /* read plus written */
    unsigned grid;  /* blocks of GPU_BS_BLOCK threads */
    struct gpu_bs_args args;
    struct gpu_mesh_args mesh; /* mesh that gives the index of BS6 and BS7 */
};

/* Finds the largest operation that moves at most these bytes and fits the buffers. degree, 1 to
 * GPU_BS_DEGREES, is of the mesh's elements. False: the smallest does not fit. */
bool gpu_bs_lay(int test, int degree, uint64_t bytes, const struct gpu_memory *a,
                const struct gpu_memory *b, struct gpu_bs *ret_bs);

/* True when the device has the kernels. */
bool gpu_bs_has_kernels(const struct gpu_device *device, int test);

/* Builds the index of BS6 and BS7; nothing for the others. Returns the runtime's code. */
int gpu_bs_prepare(const struct gpu_node *node, int device, const struct gpu_bs *bs,
                   gpu_stream stream);

/* Launches it once: its kernel, and the one that adds up its partial sums. Returns the runtime's
 * code. */
int gpu_bs_launch(const struct gpu_node *node, int device, const struct gpu_bs *bs,
                  gpu_stream stream);
