/* AMD's runtime, libamdhip64, behind struct gpu_api. */
#include "gpu/driver/api.h"

#include <stddef.h>
#include <stdlib.h>

#include "gpu/driver/dl.h"
#include "gpu/driver/hip_calls.h"

static const struct gpu_dl_call call_table[] = {
#define NEEDED(name, arguments) {#name, offsetof(struct gpu_hip_calls, name), true},
#define WANTED(name, arguments) {#name, offsetof(struct gpu_hip_calls, name), false},
    GPU_HIP_CALLS(NEEDED, WANTED){"hipGetErrorString",
                                  offsetof(struct gpu_hip_calls, hipGetErrorString), true},
};

/* NUMA nodes have no number here: the nearest one has in late versions only. */
#define NO_ATTRIBUTE (-1)
static const int attribute_number[GPU_ATTRIBUTE_COUNT] = {
    [GPU_ATTRIBUTE_MULTIPROCESSORS] = 63,
    [GPU_ATTRIBUTE_CLOCK_KHZ] = 5,
    [GPU_ATTRIBUTE_L2_BYTES] = 19,
    [GPU_ATTRIBUTE_ARCH_MAJOR] = 23,
    [GPU_ATTRIBUTE_ARCH_MINOR] = 61,
    [GPU_ATTRIBUTE_COPY_ENGINES] = 2,
    [GPU_ATTRIBUTE_INTEGRATED] = 16,
    [GPU_ATTRIBUTE_MANAGED] = 9,
    [GPU_ATTRIBUTE_PAGEABLE] = 65,
    [GPU_ATTRIBUTE_PAGEABLE_BY_HOST] = 66,
    [GPU_ATTRIBUTE_HOST_NUMA] = NO_ATTRIBUTE,
    [GPU_ATTRIBUTE_MEMORY_NUMA] = NO_ATTRIBUTE,
};

static const struct gpu_hip_calls *calls_of(const struct gpu_api *api) { return api->calls; }

static void *pointer(gpu_address address) { return (void *)(uintptr_t)address; }

static const char *text(const struct gpu_api *api, int code)
{
    const char *words = code == GPU_MISSING ? "the runtime has no such call"
                                            : calls_of(api)->hipGetErrorString(code);
    return words != NULL ? words : "an error that the runtime has no words for";
}

static int attribute(const struct gpu_api *api, int device, enum gpu_attribute what, int *ret_value)
{
    int value;
    if (attribute_number[what] == NO_ATTRIBUTE)
        return GPU_MISSING;
    int code = calls_of(api)->hipDeviceGetAttribute(&value, attribute_number[what], device);
    if (code == 0)
        *ret_value = value;
    return code;
}

static int device_name(const struct gpu_api *api, int device, char *buffer, size_t size)
{
    return calls_of(api)->hipDeviceGetName(buffer, (int)size, device);
}

static int device_uuid(const struct gpu_api *api, int device, char *buffer, size_t size)
{
    unsigned char bytes[16];
    if (calls_of(api)->hipDeviceGetUuid == NULL)
        return GPU_MISSING;
    int code = calls_of(api)->hipDeviceGetUuid(bytes, device);
    return code == 0 && !gpu_dl_uuid(bytes, buffer, size) ? HIP_UNKNOWN : code;
}

static int device_pci(const struct gpu_api *api, int device, char *buffer, size_t size)
{
    char address[32] = "";
    int code = calls_of(api)->hipDeviceGetPCIBusId(address, sizeof address, device);
    return code == 0 && !gpu_dl_pci(address, buffer, size) ? HIP_UNKNOWN : code;
}

static int device_bytes(const struct gpu_api *api, int device, uint64_t *ret_bytes)
{
    size_t bytes;
    int code = calls_of(api)->hipDeviceTotalMem(&bytes, device);
    if (code == 0)
        *ret_bytes = bytes;
    return code;
}

/* A device has one context, which is made by the first call that needs it. The waiting thread spins
 * where HIP allows it: a wake-up costs more than the measured operation. */
static int open_context(const struct gpu_api *api, int device, gpu_context *ret_context)
{
    int code = calls_of(api)->hipSetDevice(device);
    if (code == 0 && calls_of(api)->hipSetDeviceFlags != NULL)
        (void)calls_of(api)->hipSetDeviceFlags(HIP_SCHEDULE_SPIN);
    if (code == 0)
        code = calls_of(api)->hipFree(NULL);
    if (code == 0)
        *ret_context = (gpu_context)((uintptr_t)device + 1);
    return code;
}

static int close_context(const struct gpu_api *api, int device, gpu_context context)
{
    (void)context;
    int code = calls_of(api)->hipSetDevice(device);
    return code == 0 && calls_of(api)->hipDeviceReset != NULL ? calls_of(api)->hipDeviceReset()
                                                              : code;
}

static int enter(const struct gpu_api *api, int device, gpu_context context)
{
    (void)context;
    return calls_of(api)->hipSetDevice(device);
}

static int can_access(const struct gpu_api *api, int device, int peer, bool *ret_can)
{
    int can;
    int code = calls_of(api)->hipDeviceCanAccessPeer(&can, device, peer);
    if (code == 0)
        *ret_can = can != 0;
    return code;
}

static int access_peer(const struct gpu_api *api, int peer, gpu_context peer_context)
{
    (void)peer_context;
    int code = calls_of(api)->hipDeviceEnablePeerAccess(peer, 0);
    return code == HIP_PEER_ALREADY ? 0 : code;
}

static int alloc(const struct gpu_api *api, size_t bytes, gpu_address *ret_address)
{
    void *memory;
    int code = calls_of(api)->hipMalloc(&memory, bytes);
    if (code == 0)
        *ret_address = (uintptr_t)memory;
    return code;
}

static int free_memory(const struct gpu_api *api, gpu_address address)
{
    return calls_of(api)->hipFree(pointer(address));
}

static int host_alloc(const struct gpu_api *api, size_t bytes, enum gpu_host_kind kind,
                      void **ret_memory)
{
    unsigned flags = HIP_HOST_PORTABLE | HIP_HOST_MAPPED;
    void *memory;
    if (kind != GPU_HOST_PINNED)
        flags |= kind == GPU_HOST_COHERENT ? HIP_HOST_COHERENT : HIP_HOST_NONCOHERENT;
    int code = calls_of(api)->hipHostMalloc(&memory, bytes, flags);
    if (code == 0)
        *ret_memory = memory;
    return code;
}

/* Registered memory is coherent unless the caller requests otherwise. */
static int host_register(const struct gpu_api *api, void *memory, size_t bytes,
                         enum gpu_host_kind kind)
{
    unsigned flags = HIP_HOST_PORTABLE | HIP_HOST_MAPPED |
                     (kind == GPU_HOST_NONCOHERENT ? HIP_REGISTER_COARSE : 0);
    return calls_of(api)->hipHostRegister(memory, bytes, flags);
}

static int host_address(const struct gpu_api *api, void *memory, gpu_address *ret_address)
{
    void *address;
    int code = calls_of(api)->hipHostGetDevicePointer(&address, memory, 0);
    if (code == 0)
        *ret_address = (uintptr_t)address;
    return code;
}

static int managed_alloc(const struct gpu_api *api, size_t bytes, gpu_address *ret_address)
{
    void *memory;
    if (calls_of(api)->hipMallocManaged == NULL)
        return GPU_MISSING;
    int code = calls_of(api)->hipMallocManaged(&memory, bytes, HIP_ATTACH_GLOBAL);
    if (code == 0)
        *ret_address = (uintptr_t)memory;
    return code;
}

static int managed_advise(const struct gpu_api *api, gpu_address address, size_t bytes,
                          enum gpu_advice advice, int device)
{
    if (calls_of(api)->hipMemAdvise == NULL)
        return GPU_MISSING;
    switch (advice) {
    case GPU_ADVISE_HOST:
        return calls_of(api)->hipMemAdvise(pointer(address), bytes, HIP_SET_PREFERRED,
                                           HIP_DEVICE_CPU);
    case GPU_ADVISE_DEVICE:
        return calls_of(api)->hipMemAdvise(pointer(address), bytes, HIP_SET_PREFERRED, device);
    case GPU_ADVISE_ACCESSED_BY:
        return calls_of(api)->hipMemAdvise(pointer(address), bytes, HIP_SET_ACCESSED_BY, device);
    case GPU_ADVISE_NONE: {
        int code =
            calls_of(api)->hipMemAdvise(pointer(address), bytes, HIP_UNSET_PREFERRED, device);
        return code != 0 ? code
                         : calls_of(api)->hipMemAdvise(pointer(address), bytes,
                                                       HIP_UNSET_ACCESSED_BY, device);
    }
    }
    return HIP_NOT_SUPPORTED;
}

static int managed_prefetch(const struct gpu_api *api, gpu_address address, size_t bytes,
                            int device, gpu_stream stream)
{
    if (calls_of(api)->hipMemPrefetchAsync == NULL)
        return GPU_MISSING;
    return calls_of(api)->hipMemPrefetchAsync(pointer(address), bytes,
                                              device >= 0 ? device : HIP_DEVICE_CPU, stream);
}

static int copy(const struct gpu_api *api, gpu_address to, gpu_address from, size_t bytes,
                gpu_stream stream)
{
    return calls_of(api)->hipMemcpyAsync(pointer(to), pointer(from), bytes, HIP_COPY_DEFAULT,
                                         stream);
}

static int copy_now(const struct gpu_api *api, gpu_address to, gpu_address from, size_t bytes)
{
    return calls_of(api)->hipMemcpy == NULL
               ? GPU_MISSING
               : calls_of(api)->hipMemcpy(pointer(to), pointer(from), bytes, HIP_COPY_DEFAULT);
}

static int copy_peer(const struct gpu_api *api, const struct gpu_peer_end *to,
                     const struct gpu_peer_end *from, size_t bytes, gpu_stream stream)
{
    return calls_of(api)->hipMemcpyPeerAsync(pointer(to->address), to->device,
                                             pointer(from->address), from->device, bytes, stream);
}

static int fill(const struct gpu_api *api, gpu_address to, uint8_t byte, size_t bytes,
                gpu_stream stream)
{
    return calls_of(api)->hipMemsetAsync(pointer(to), byte, bytes, stream);
}

static int module_function(const struct gpu_api *api, gpu_module module, const char *name,
                           gpu_function *ret_function)
{
    gpu_function function;
    int code = calls_of(api)->hipModuleGetFunction(&function, module, name);
    if (code == 0)
        *ret_function = function;
    return code;
}

/* The arguments go as one buffer, whose size is given. */
static int launch(const struct gpu_api *api, gpu_function function, unsigned grid, unsigned block,
                  gpu_stream stream, const void *args, size_t args_size)
{
    void *extra[] = {(void *)1, (void *)(uintptr_t)args, (void *)2, &args_size, (void *)3};
    return calls_of(api)->hipModuleLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, NULL,
                                                extra);
}

#define RUNTIME(cuda, hip) hip
#include "gpu/driver/api_body.h"

struct gpu_api *gpu_hip_new(struct probe_why *why)
{
    static const char *const libraries[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                            "libamdhip64.so.5", NULL};
    /* The default is 4 hardware queues. More streams share them in turn and wait for each other. */
    (void)setenv("GPU_MAX_HW_QUEUES", "8", 0);
    return open_library("hip", libraries, why);
}
