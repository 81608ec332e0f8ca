/* Runs the kernels on the first CUDA device, for compute-sanitizer too. */
#include <stdio.h>
#include <stdlib.h>

#include "gpu/driver/gpu_kernels.cu"

static void must(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        printf("Bail out! %s: %s\n", what, cudaGetErrorString(error));
        exit(1);
    }
}

static cudaStream_t streams[2];

static void *memory(size_t bytes)
{
    void *block;
    must(cudaMallocManaged(&block, bytes), "cudaMallocManaged");
    must(cudaMemset(block, 0, bytes), "cudaMemset");
    must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return block;
}

template <class Args>
static void start(int stream, void (*kernel)(Args), unsigned grid, unsigned block, Args args)
{
    if (streams[stream] == nullptr)
        must(cudaStreamCreateWithFlags(&streams[stream], cudaStreamNonBlocking),
             "cudaStreamCreate");
    kernel<<<grid, block, 0, streams[stream]>>>(args);
    must(cudaGetLastError(), "launch");
}

static void finish() { must(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }

#include "checks.h"
