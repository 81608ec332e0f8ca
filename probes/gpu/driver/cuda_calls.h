/* The functions of CUDA's driver that the probe calls, and their constants. The binary interface is
 * declared here, so no header of CUDA's is needed. */
#pragma once
#include <stddef.h>

#include "gpu/driver/api.h"

/* The driver's functions with the names of its binary interface. _v2 marks those whose sizes became
 * 64 bits wide. cuMemAdvise and cuMemPrefetchAsync without an ending name a device by its number,
 * which all drivers since CUDA 8 have. */
#define GPU_CUDA_CALLS(NEEDED, WANTED)                                                             \
    NEEDED(cuInit, (unsigned flags))                                                               \
    NEEDED(cuDriverGetVersion, (int *version))                                                     \
    NEEDED(cuGetErrorString, (int code, const char **text))                                        \
    NEEDED(cuDeviceGetCount, (int *count))                                                         \
    NEEDED(cuDeviceGet, (int *device, int ordinal))                                                \
    NEEDED(cuDeviceGetAttribute, (int *value, int attribute, int device))                          \
    NEEDED(cuDeviceGetName, (char *name, int size, int device))                                    \
    WANTED(cuDeviceGetUuid, (unsigned char *bytes, int device))                                    \
    NEEDED(cuDeviceGetPCIBusId, (char *address, int size, int device))                             \
    NEEDED(cuDeviceTotalMem_v2, (size_t * bytes, int device))                                      \
    NEEDED(cuDevicePrimaryCtxSetFlags_v2, (int device, unsigned flags))                            \
    NEEDED(cuDevicePrimaryCtxRetain, (gpu_context * context, int device))                          \
    NEEDED(cuDevicePrimaryCtxRelease_v2, (int device))                                             \
    NEEDED(cuCtxSetCurrent, (gpu_context context))                                                 \
    NEEDED(cuDeviceCanAccessPeer, (int *can, int device, int peer))                                \
    NEEDED(cuCtxEnablePeerAccess, (gpu_context peer, unsigned flags))                              \
    NEEDED(cuMemAlloc_v2, (gpu_address * address, size_t bytes))                                   \
    NEEDED(cuMemFree_v2, (gpu_address address))                                                    \
    NEEDED(cuMemGetInfo_v2, (size_t * free, size_t * total))                                       \
    NEEDED(cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags))                          \
    NEEDED(cuMemFreeHost, (void *memory))                                                          \
    NEEDED(cuMemHostRegister_v2, (void *memory, size_t bytes, unsigned flags))                     \
    NEEDED(cuMemHostUnregister, (void *memory))                                                    \
    NEEDED(cuMemHostGetDevicePointer_v2, (gpu_address * address, void *memory, unsigned flags))    \
    WANTED(cuMemAllocManaged, (gpu_address * address, size_t bytes, unsigned flags))               \
    WANTED(cuMemAdvise, (gpu_address address, size_t bytes, int advice, int device))               \
    WANTED(cuMemPrefetchAsync, (gpu_address address, size_t bytes, int device, gpu_stream stream)) \
    NEEDED(cuStreamCreate, (gpu_stream * stream, unsigned flags))                                  \
    NEEDED(cuStreamDestroy_v2, (gpu_stream stream))                                                \
    NEEDED(cuStreamSynchronize, (gpu_stream stream))                                               \
    NEEDED(cuStreamWaitEvent, (gpu_stream stream, gpu_event event, unsigned flags))                \
    NEEDED(cuStreamQuery, (gpu_stream stream))                                                     \
    NEEDED(cuEventCreate, (gpu_event * event, unsigned flags))                                     \
    NEEDED(cuEventDestroy_v2, (gpu_event event))                                                   \
    NEEDED(cuEventRecord, (gpu_event event, gpu_stream stream))                                    \
    NEEDED(cuEventElapsedTime, (float *ms, gpu_event from, gpu_event to))                          \
    NEEDED(cuMemcpyAsync, (gpu_address to, gpu_address from, size_t bytes, gpu_stream stream))     \
    WANTED(cuMemcpy, (gpu_address to, gpu_address from, size_t bytes))                             \
    NEEDED(cuMemcpyPeerAsync, (gpu_address to, gpu_context to_context, gpu_address from,           \
                               gpu_context from_context, size_t bytes, gpu_stream stream))         \
    NEEDED(cuMemsetD8Async, (gpu_address to, unsigned char byte, size_t bytes, gpu_stream stream)) \
    NEEDED(cuModuleLoadData, (gpu_module * module, const void *image))                             \
    NEEDED(cuModuleUnload, (gpu_module module))                                                    \
    NEEDED(cuModuleGetFunction, (gpu_function * function, gpu_module module, const char *name))    \
    WANTED(cuFuncLoad, (gpu_function function))                                                    \
    WANTED(cuFuncGetAttribute, (int *value, int attribute, gpu_function function))                 \
    NEEDED(cuLaunchKernel,                                                                         \
           (gpu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,              \
            unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,           \
            gpu_stream stream, void **arguments, void **extra))

struct gpu_cuda_calls {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration */
#define MEMBER(name, arguments) int(*name) arguments;
    GPU_CUDA_CALLS(MEMBER, MEMBER)
#undef MEMBER
};

/* Constants from the driver's enumerations. */
enum {
    CUDA_CONTEXT_SPIN = 0x01,
    CUDA_HOST_PORTABLE = 0x01,
    CUDA_HOST_MAPPED = 0x02,
    CUDA_ATTACH_GLOBAL = 0x01,
    CUDA_STREAM_NON_BLOCKING = 0x01,
    CUDA_SET_PREFERRED = 3,
    CUDA_UNSET_PREFERRED = 4,
    CUDA_SET_ACCESSED_BY = 5,
    CUDA_UNSET_ACCESSED_BY = 6,
    CUDA_BLOCK_THREADS = 0, /* an attribute of a function */
    CUDA_DEVICE_CPU = -1,
    CUDA_NOT_READY = 600,
    CUDA_PEER_ALREADY = 704,
    CUDA_NOT_SUPPORTED = 801,
    CUDA_UNKNOWN = 999
};
