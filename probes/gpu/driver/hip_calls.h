/* The HIP functions that the probe calls, and their constants, declared here so that no header of
 * ROCm's is needed. */
#pragma once
#include <stddef.h>

#include "gpu/driver/api.h"

/* HIP functions that are the same from version 5 to 7: none with a structure but the 16 bytes of a
 * UUID. */
#define GPU_HIP_CALLS(NEEDED, WANTED)                                                              \
    NEEDED(hipInit, (unsigned flags))                                                              \
    NEEDED(hipDriverGetVersion, (int *version))                                                    \
    NEEDED(hipGetDeviceCount, (int *count))                                                        \
    NEEDED(hipDeviceGetAttribute, (int *value, int attribute, int device))                         \
    NEEDED(hipDeviceGetName, (char *name, int size, int device))                                   \
    WANTED(hipDeviceGetUuid, (unsigned char *bytes, int device))                                   \
    NEEDED(hipDeviceGetPCIBusId, (char *address, int size, int device))                            \
    NEEDED(hipDeviceTotalMem, (size_t * bytes, int device))                                        \
    NEEDED(hipSetDevice, (int device))                                                             \
    WANTED(hipSetDeviceFlags, (unsigned flags))                                                    \
    WANTED(hipDeviceReset, (void))                                                                 \
    NEEDED(hipDeviceCanAccessPeer, (int *can, int device, int peer))                               \
    NEEDED(hipDeviceEnablePeerAccess, (int peer, unsigned flags))                                  \
    NEEDED(hipMalloc, (void **memory, size_t bytes))                                               \
    NEEDED(hipFree, (void *memory))                                                                \
    NEEDED(hipMemGetInfo, (size_t * free, size_t * total))                                         \
    NEEDED(hipHostMalloc, (void **memory, size_t bytes, unsigned flags))                           \
    NEEDED(hipHostFree, (void *memory))                                                            \
    NEEDED(hipHostRegister, (void *memory, size_t bytes, unsigned flags))                          \
    NEEDED(hipHostUnregister, (void *memory))                                                      \
    NEEDED(hipHostGetDevicePointer, (void **address, void *memory, unsigned flags))                \
    WANTED(hipMallocManaged, (void **memory, size_t bytes, unsigned flags))                        \
    WANTED(hipMemAdvise, (const void *address, size_t bytes, int advice, int device))              \
    WANTED(hipMemPrefetchAsync,                                                                    \
           (const void *address, size_t bytes, int device, gpu_stream stream))                     \
    NEEDED(hipStreamCreateWithFlags, (gpu_stream * stream, unsigned flags))                        \
    NEEDED(hipStreamDestroy, (gpu_stream stream))                                                  \
    NEEDED(hipStreamSynchronize, (gpu_stream stream))                                              \
    NEEDED(hipStreamWaitEvent, (gpu_stream stream, gpu_event event, unsigned flags))               \
    NEEDED(hipStreamQuery, (gpu_stream stream))                                                    \
    NEEDED(hipEventCreateWithFlags, (gpu_event * event, unsigned flags))                           \
    NEEDED(hipEventDestroy, (gpu_event event))                                                     \
    NEEDED(hipEventRecord, (gpu_event event, gpu_stream stream))                                   \
    NEEDED(hipEventElapsedTime, (float *ms, gpu_event from, gpu_event to))                         \
    NEEDED(hipMemcpyAsync,                                                                         \
           (void *to, const void *from, size_t bytes, int kind, gpu_stream stream))                \
    WANTED(hipMemcpy, (void *to, const void *from, size_t bytes, int kind))                        \
    NEEDED(hipMemcpyPeerAsync, (void *to, int to_device, const void *from, int from_device,        \
                                size_t bytes, gpu_stream stream))                                  \
    NEEDED(hipMemsetAsync, (void *to, int byte, size_t bytes, gpu_stream stream))                  \
    NEEDED(hipModuleLoadData, (gpu_module * module, const void *image))                            \
    NEEDED(hipModuleUnload, (gpu_module module))                                                   \
    NEEDED(hipModuleGetFunction, (gpu_function * function, gpu_module module, const char *name))   \
    WANTED(hipFuncGetAttribute, (int *value, int attribute, gpu_function function))                \
    NEEDED(hipModuleLaunchKernel,                                                                  \
           (gpu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,              \
            unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,           \
            gpu_stream stream, void **arguments, void **extra))

/* The function that words a code is the only one that returns no code. */
struct gpu_hip_calls {
    const char *(*hipGetErrorString)(int code);
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration */
#define MEMBER(name, arguments) int(*name) arguments;
    GPU_HIP_CALLS(MEMBER, MEMBER)
#undef MEMBER
};

/* Constants from HIP's enumerations, the same numbers from version 5 to 7. */
enum {
    HIP_SCHEDULE_SPIN = 0x1,
    HIP_HOST_PORTABLE = 0x1,
    HIP_HOST_MAPPED = 0x2,
    HIP_HOST_COHERENT = 0x40000000,
    HIP_REGISTER_COARSE = 0x8,
    HIP_ATTACH_GLOBAL = 0x1,
    HIP_STREAM_NON_BLOCKING = 0x1,
    HIP_COPY_DEFAULT = 4,
    HIP_SET_PREFERRED = 3,
    HIP_UNSET_PREFERRED = 4,
    HIP_SET_ACCESSED_BY = 5,
    HIP_UNSET_ACCESSED_BY = 6,
    HIP_BLOCK_THREADS = 0, /* an attribute of a function */
    HIP_DEVICE_CPU = -1,
    HIP_NOT_READY = 600,
    HIP_PEER_ALREADY = 704,
    HIP_NOT_SUPPORTED = 801,
    HIP_UNKNOWN = 999
};
#define HIP_HOST_NONCOHERENT 0x80000000U
