/* NVIDIA's driver API, libcuda, behind struct gpu_api. */
#include "gpu/driver/api.h"

#include <stddef.h>
#include <stdlib.h>

#include "gpu/driver/cuda_calls.h"
#include "gpu/driver/dl.h"

static const struct gpu_dl_call call_table[] = {
#define NEEDED(name, arguments) {#name, offsetof(struct gpu_cuda_calls, name), true},
#define WANTED(name, arguments) {#name, offsetof(struct gpu_cuda_calls, name), false},
    GPU_CUDA_CALLS(NEEDED, WANTED)};

static const int attribute_number[GPU_ATTRIBUTE_COUNT] = {
    [GPU_ATTRIBUTE_MULTIPROCESSORS] = 16, [GPU_ATTRIBUTE_CLOCK_KHZ] = 13,
    [GPU_ATTRIBUTE_L2_BYTES] = 38,        [GPU_ATTRIBUTE_ARCH_MAJOR] = 75,
    [GPU_ATTRIBUTE_ARCH_MINOR] = 76,      [GPU_ATTRIBUTE_COPY_ENGINES] = 40,
    [GPU_ATTRIBUTE_INTEGRATED] = 18,      [GPU_ATTRIBUTE_MANAGED] = 89,
    [GPU_ATTRIBUTE_PAGEABLE] = 88,        [GPU_ATTRIBUTE_PAGEABLE_BY_HOST] = 100,
    [GPU_ATTRIBUTE_HOST_NUMA] = 134,      [GPU_ATTRIBUTE_MEMORY_NUMA] = 131,
};

static const struct gpu_cuda_calls *calls_of(const struct gpu_api *api) { return api->calls; }

static const char *text(const struct gpu_api *api, int code)
{
    const char *words = NULL;
    if (code == GPU_MISSING)
        return "the driver has no such call";
    return calls_of(api)->cuGetErrorString(code, &words) == 0 && words != NULL
               ? words
               : "an error that the driver has no words for";
}

static int attribute(const struct gpu_api *api, int device, enum gpu_attribute what, int *ret_value)
{
    int handle, value = 0;
    int code = calls_of(api)->cuDeviceGet(&handle, device);
    if (code == 0)
        code = calls_of(api)->cuDeviceGetAttribute(&value, attribute_number[what], handle);
    if (code == 0)
        *ret_value = value;
    return code;
}

static int device_name(const struct gpu_api *api, int device, char *buffer, size_t size)
{
    int handle;
    int code = calls_of(api)->cuDeviceGet(&handle, device);
    return code != 0 ? code : calls_of(api)->cuDeviceGetName(buffer, (int)size, handle);
}

static int device_uuid(const struct gpu_api *api, int device, char *buffer, size_t size)
{
    int handle;
    unsigned char bytes[16];
    if (calls_of(api)->cuDeviceGetUuid == NULL)
        return GPU_MISSING;
    int code = calls_of(api)->cuDeviceGet(&handle, device);
    if (code == 0)
        code = calls_of(api)->cuDeviceGetUuid(bytes, handle);
    return code == 0 && !gpu_dl_uuid(bytes, buffer, size) ? CUDA_UNKNOWN : code;
}

static int device_pci(const struct gpu_api *api, int device, char *buffer, size_t size)
{
    int handle;
    char address[32] = "";
    int code = calls_of(api)->cuDeviceGet(&handle, device);
    if (code == 0)
        code = calls_of(api)->cuDeviceGetPCIBusId(address, sizeof address, handle);
    return code == 0 && !gpu_dl_pci(address, buffer, size) ? CUDA_UNKNOWN : code;
}

static int device_bytes(const struct gpu_api *api, int device, uint64_t *ret_bytes)
{
    int handle;
    size_t bytes = 0;
    int code = calls_of(api)->cuDeviceGet(&handle, device);
    if (code == 0)
        code = calls_of(api)->cuDeviceTotalMem_v2(&bytes, handle);
    if (code == 0)
        *ret_bytes = bytes;
    return code;
}

/* NCCL and cuBLAS work in the device's primary context, so memory and streams are theirs as well.
 * The thread that waits for a device spins: a wake-up costs more than the measured operation. */
static int open_context(const struct gpu_api *api, int device, gpu_context *ret_context)
{
    const struct gpu_cuda_calls *calls = calls_of(api);
    int handle;
    gpu_context context = NULL;
    int code = calls->cuDeviceGet(&handle, device);
    if (code == 0)
        code = calls->cuDevicePrimaryCtxSetFlags_v2(handle, CUDA_CONTEXT_SPIN);
    if (code == 0)
        code = calls->cuDevicePrimaryCtxRetain(&context, handle);
    if (code != 0)
        return code;
    code = calls->cuCtxSetCurrent(context);
    if (code == 0)
        *ret_context = context;
    else
        calls->cuDevicePrimaryCtxRelease_v2(handle);
    return code;
}

static int close_context(const struct gpu_api *api, int device, gpu_context context)
{
    (void)context;
    int handle;
    int code = calls_of(api)->cuDeviceGet(&handle, device);
    return code != 0 ? code : calls_of(api)->cuDevicePrimaryCtxRelease_v2(handle);
}

static int enter(const struct gpu_api *api, int device, gpu_context context)
{
    (void)device;
    return calls_of(api)->cuCtxSetCurrent(context);
}

static int can_access(const struct gpu_api *api, int device, int peer, bool *ret_can)
{
    int handle, peer_handle = 0, can = 0;
    int code = calls_of(api)->cuDeviceGet(&handle, device);
    if (code == 0)
        code = calls_of(api)->cuDeviceGet(&peer_handle, peer);
    if (code == 0)
        code = calls_of(api)->cuDeviceCanAccessPeer(&can, handle, peer_handle);
    if (code == 0)
        *ret_can = can != 0;
    return code;
}

static int access_peer(const struct gpu_api *api, int peer, gpu_context peer_context)
{
    (void)peer;
    int code = calls_of(api)->cuCtxEnablePeerAccess(peer_context, 0);
    return code == CUDA_PEER_ALREADY ? 0 : code;
}

static int alloc(const struct gpu_api *api, size_t bytes, gpu_address *ret_address)
{
    gpu_address address;
    int code = calls_of(api)->cuMemAlloc_v2(&address, bytes);
    if (code == 0)
        *ret_address = address;
    return code;
}

static int free_memory(const struct gpu_api *api, gpu_address address)
{
    return calls_of(api)->cuMemFree_v2(address);
}

static int host_alloc(const struct gpu_api *api, size_t bytes, enum gpu_host_kind kind,
                      void **ret_memory)
{
    void *memory;
    if (kind != GPU_HOST_PINNED)
        return CUDA_NOT_SUPPORTED;
    int code = calls_of(api)->cuMemHostAlloc(&memory, bytes, CUDA_HOST_PORTABLE | CUDA_HOST_MAPPED);
    if (code == 0)
        *ret_memory = memory;
    return code;
}

static int host_register(const struct gpu_api *api, void *memory, size_t bytes,
                         enum gpu_host_kind kind)
{
    return kind != GPU_HOST_PINNED ? CUDA_NOT_SUPPORTED
                                   : calls_of(api)->cuMemHostRegister_v2(
                                         memory, bytes, CUDA_HOST_PORTABLE | CUDA_HOST_MAPPED);
}

static int host_address(const struct gpu_api *api, void *memory, gpu_address *ret_address)
{
    gpu_address address;
    int code = calls_of(api)->cuMemHostGetDevicePointer_v2(&address, memory, 0);
    if (code == 0)
        *ret_address = address;
    return code;
}

static int managed_alloc(const struct gpu_api *api, size_t bytes, gpu_address *ret_address)
{
    gpu_address address;
    if (calls_of(api)->cuMemAllocManaged == NULL)
        return GPU_MISSING;
    int code = calls_of(api)->cuMemAllocManaged(&address, bytes, CUDA_ATTACH_GLOBAL);
    if (code == 0)
        *ret_address = address;
    return code;
}

static int managed_advise(const struct gpu_api *api, gpu_address address, size_t bytes,
                          enum gpu_advice advice, int device)
{
    int handle = CUDA_DEVICE_CPU;
    int code = 0;
    if (calls_of(api)->cuMemAdvise == NULL)
        return GPU_MISSING;
    if (advice != GPU_ADVISE_HOST)
        code = calls_of(api)->cuDeviceGet(&handle, device);
    if (code != 0)
        return code;
    switch (advice) {
    case GPU_ADVISE_HOST:
    case GPU_ADVISE_DEVICE:
        return calls_of(api)->cuMemAdvise(address, bytes, CUDA_SET_PREFERRED, handle);
    case GPU_ADVISE_ACCESSED_BY:
        return calls_of(api)->cuMemAdvise(address, bytes, CUDA_SET_ACCESSED_BY, handle);
    case GPU_ADVISE_NONE:
        code = calls_of(api)->cuMemAdvise(address, bytes, CUDA_UNSET_PREFERRED, handle);
        return code != 0
                   ? code
                   : calls_of(api)->cuMemAdvise(address, bytes, CUDA_UNSET_ACCESSED_BY, handle);
    }
    return CUDA_NOT_SUPPORTED;
}

static int managed_prefetch(const struct gpu_api *api, gpu_address address, size_t bytes,
                            int device, gpu_stream stream)
{
    int handle = CUDA_DEVICE_CPU;
    int code = 0;
    if (calls_of(api)->cuMemPrefetchAsync == NULL)
        return GPU_MISSING;
    if (device >= 0)
        code = calls_of(api)->cuDeviceGet(&handle, device);
    return code != 0 ? code : calls_of(api)->cuMemPrefetchAsync(address, bytes, handle, stream);
}

static int copy(const struct gpu_api *api, gpu_address to, gpu_address from, size_t bytes,
                gpu_stream stream)
{
    return calls_of(api)->cuMemcpyAsync(to, from, bytes, stream);
}

static int copy_now(const struct gpu_api *api, gpu_address to, gpu_address from, size_t bytes)
{
    return calls_of(api)->cuMemcpy == NULL ? GPU_MISSING : calls_of(api)->cuMemcpy(to, from, bytes);
}

static int copy_peer(const struct gpu_api *api, const struct gpu_peer_end *to,
                     const struct gpu_peer_end *from, size_t bytes, gpu_stream stream)
{
    return calls_of(api)->cuMemcpyPeerAsync(to->address, to->context, from->address, from->context,
                                            bytes, stream);
}

static int fill(const struct gpu_api *api, gpu_address to, uint8_t byte, size_t bytes,
                gpu_stream stream)
{
    return calls_of(api)->cuMemsetD8Async(to, byte, bytes, stream);
}

/* Loads the kernel now. Drivers that load a kernel at its first launch would wait for running
 * kernels. A running kernel may itself wait for that launch. Drivers without cuFuncLoad have loaded
 * it with the first call. */
static int module_function(const struct gpu_api *api, gpu_module module, const char *name,
                           gpu_function *ret_function)
{
    gpu_function function;
    int code = calls_of(api)->cuModuleGetFunction(&function, module, name);
    if (code == 0 && calls_of(api)->cuFuncLoad != NULL)
        code = calls_of(api)->cuFuncLoad(function);
    if (code == 0)
        *ret_function = function;
    return code;
}

/* The arguments go as one buffer, whose size the driver compares with the kernel's. */
static int launch(const struct gpu_api *api, gpu_function function, unsigned grid, unsigned block,
                  gpu_stream stream, const void *args, size_t args_size)
{
    void *extra[] = {(void *)1, (void *)(uintptr_t)args, (void *)2, &args_size, NULL};
    return calls_of(api)->cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, NULL, extra);
}

#define RUNTIME(cuda, hip) cuda
#include "gpu/driver/api_body.h"

struct gpu_api *gpu_cuda_new(struct probe_why *why)
{
    static const char *const libraries[] = {"libcuda.so.1", NULL};
    return open_library("cuda", libraries, why);
}
