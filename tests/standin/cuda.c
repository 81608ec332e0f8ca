/*
 * CUDA's driver API by its binary names, as far as the probe calls it, on the virtual node.
 */
#include <stdio.h>
#include <string.h>

#include "driver.h"

/* Their prototypes are in headers that need not be there. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define PUBLIC __attribute__((visibility("default")))

/* By this a program knows that what it measures is no machine. */
PUBLIC extern const char berth_standin[];
const char berth_standin[] = "berth's stand-in for libcuda.so.1";

struct context {
    int device;
};
static const struct context contexts[MODEL_DEVICES_MAX] = {
    {0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}, {12}, {13}, {14}, {15}};
static _Thread_local const struct context *current;

static struct driver_call here(const char *name)
{
    return (struct driver_call){name, current != NULL ? current->device : -1};
}
static struct driver_call at(const char *name, int device)
{
    return (struct driver_call){name, device};
}

/* Calls that need a context. */
#define HERE(call) (current == NULL ? CODE_INVALID_CONTEXT : (call))

PUBLIC int cuInit(unsigned flags)
{
    return flags != 0                                 ? CODE_INVALID_VALUE
           : strcmp(driver_model()->api, "cuda") != 0 ? CODE_NO_DEVICE
                                                      : driver_init(here("cuInit"));
}
PUBLIC int cuDriverGetVersion(int *version) { return *version = driver_model()->driver, CODE_OK; }
PUBLIC int cuGetErrorString(int code, const char **text)
{
    return *text = driver_text(code), CODE_OK;
}
PUBLIC int cuDeviceGetCount(int *count) { return driver_count(here("cuDeviceGetCount"), count); }

PUBLIC int cuDeviceGet(int *device, int ordinal)
{
    const struct model_device *facts;
    int code = driver_device(at("cuDeviceGet", ordinal), ordinal, &facts);
    if (code == CODE_OK)
        *device = ordinal;
    return code;
}

PUBLIC int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    const struct model_device *facts;
    int code = driver_device(at("cuDeviceGetAttribute", device), device, &facts);
    if (code != CODE_OK)
        return code;
    const struct {
        int attribute, value;
    } values[] = {{1, 1024},
                  {10, 32},
                  {13, facts->khz},
                  {16, facts->multiprocessors},
                  {18, facts->integrated},
                  {19, 1},
                  {38, facts->l2},
                  {39, facts->threads},
                  {40, facts->engines},
                  {41, 1},
                  {75, facts->major},
                  {76, facts->minor},
                  {83, facts->managed},
                  {88, facts->pageable},
                  {89, facts->managed},
                  {99, 1},
                  {100, facts->ats},
                  {131, facts->memory_numa},
                  {134, facts->numa}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i].attribute == attribute) {
            *value = values[i].value;
            return CODE_OK;
        }
    return CODE_INVALID_VALUE;
}

PUBLIC int cuDeviceGetName(char *name, int size, int device)
{
    const struct model_device *facts;
    int code = driver_device(at("cuDeviceGetName", device), device, &facts);
    if (code == CODE_OK)
        snprintf(name, (size_t)size, "%s", facts->model);
    return code;
}

PUBLIC int cuDeviceGetUuid(unsigned char *bytes, int device)
{
    const struct model_device *facts;
    int code = driver_device(at("cuDeviceGetUuid", device), device, &facts);
    const char *text =
        code == CODE_OK && strncmp(facts->uuid, "GPU-", 4) == 0 ? facts->uuid + 4 : "";
    for (int i = 0; code == CODE_OK && i < 16; i++) {
        unsigned byte = 0;
        text += *text == '-';
        bytes[i] = sscanf(text, "%2x", &byte) == 1 ? (unsigned char)byte : 0;
        text += strnlen(text, 2);
    }
    return code;
}

PUBLIC int cuDeviceGetPCIBusId(char *address, int size, int device)
{
    const struct model_device *facts;
    int code = driver_device(at("cuDeviceGetPCIBusId", device), device, &facts);
    if (code == CODE_OK)
        snprintf(address, (size_t)size, "%s", facts->pci);
    return code;
}

PUBLIC int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    const struct model_device *facts;
    int code = driver_device(at("cuDeviceTotalMem_v2", device), device, &facts);
    if (code == CODE_OK)
        *bytes = facts->bytes;
    return code;
}

/* Each device has one context of its own, which is there while somebody retains it. */
PUBLIC int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags)
{
    const struct model_device *facts;
    /* scheduling, and LMEM_RESIZE_TO_MAX; a real driver knows no MAP_HOST here */
    if (flags & ~0x17U)
        return CODE_INVALID_VALUE;
    return driver_device(at("cuDevicePrimaryCtxSetFlags_v2", device), device, &facts);
}

PUBLIC int cuDevicePrimaryCtxRetain(const struct context **ret, int device)
{
    const struct model_device *facts;
    int code = driver_device(at("cuDevicePrimaryCtxRetain", device), device, &facts);
    if (code == CODE_OK)
        code = driver_open(at("cuDevicePrimaryCtxRetain", device));
    if (code == CODE_OK)
        *ret = &contexts[device];
    return code;
}

PUBLIC int cuDevicePrimaryCtxRelease_v2(int device)
{
    return device < 0 || device >= driver_model()->device_count
               ? CODE_INVALID_DEVICE
               : (int)driver_close(at("cuDevicePrimaryCtxRelease_v2", device));
}

PUBLIC int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    *flags = 0;
    return device < 0 || device >= driver_model()->device_count
               ? CODE_INVALID_DEVICE
               : (int)driver_is_open(at("cuDevicePrimaryCtxGetState", device), active);
}

PUBLIC int cuCtxGetCurrent(const struct context **context) { return *context = current, CODE_OK; }

PUBLIC int cuCtxSetCurrent(const struct context *context)
{
    int code =
        context == NULL ? CODE_OK : (int)driver_enter(at("cuCtxSetCurrent", context->device));
    if (code == CODE_OK)
        current = context;
    return code;
}

PUBLIC int cuDeviceCanAccessPeer(int *can, int device, int peer)
{
    return driver_can_access(at("cuDeviceCanAccessPeer", device), peer, can);
}
PUBLIC int cuCtxEnablePeerAccess(const struct context *peer, unsigned flags)
{
    (void)flags;
    return peer == NULL ? CODE_INVALID_CONTEXT
                        : HERE(driver_access_peer(here("cuCtxEnablePeerAccess"), peer->device));
}

PUBLIC int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    return HERE(driver_alloc(here("cuMemAlloc_v2"), bytes, address));
}
PUBLIC int cuMemFree_v2(uint64_t address)
{
    return HERE(driver_free(here("cuMemFree_v2"), address));
}
PUBLIC int cuMemGetInfo_v2(size_t *left, size_t *total)
{
    return HERE(driver_space(here("cuMemGetInfo_v2"), left, total));
}
PUBLIC int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    (void)flags;
    return HERE(driver_host_alloc(here("cuMemHostAlloc"), bytes, MODEL_PINNED, memory));
}
PUBLIC int cuMemFreeHost(void *memory)
{
    return HERE(driver_free(here("cuMemFreeHost"), (uint64_t)(uintptr_t)memory));
}
PUBLIC int cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags)
{
    (void)flags;
    return HERE(driver_register(here("cuMemHostRegister_v2"), memory, bytes, MODEL_PINNED));
}
PUBLIC int cuMemHostUnregister(void *memory)
{
    return HERE(driver_unregister(here("cuMemHostUnregister"), memory));
}
PUBLIC int cuMemHostGetDevicePointer_v2(uint64_t *address, void *memory, unsigned flags)
{
    (void)flags;
    return HERE(driver_host_address(here("cuMemHostGetDevicePointer_v2"), memory, address));
}
PUBLIC int cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned flags)
{
    (void)flags;
    return HERE(driver_managed_alloc(here("cuMemAllocManaged"), bytes, address));
}
/* One attribute of an address: its context, kind, whether it is managed, its device. */
PUBLIC int cuPointerGetAttribute(void *value, int attribute, uint64_t address)
{
    enum { CONTEXT = 1, TYPE = 2, MANAGED = 8, DEVICE = 9, HOST_TYPE = 1, DEVICE_TYPE = 2 };
    enum memory_owner owner;
    int device;
    int code = driver_pointer(here("cuPointerGetAttribute"), address, &owner, &device);
    if (code != CODE_OK)
        return code;
    if (attribute == CONTEXT)
        *(const struct context **)value = device < 0 ? NULL : &contexts[device];
    else if (attribute == TYPE)
        *(unsigned *)value = owner == MEMORY_DEVICE ? DEVICE_TYPE : HOST_TYPE;
    else if (attribute == MANAGED)
        *(unsigned char *)value = owner == MEMORY_MANAGED;
    else if (attribute == DEVICE)
        *(int *)value = device < 0 ? 0 : device;
    else
        return CODE_INVALID_VALUE;
    return CODE_OK;
}
PUBLIC int cuMemAdvise(uint64_t address, size_t bytes, int advice, int device)
{
    return HERE(driver_advise(here("cuMemAdvise"), address, bytes, advice, device));
}
PUBLIC int cuMemPrefetchAsync(uint64_t address, size_t bytes, int device, void *stream)
{
    return HERE(driver_prefetch(here("cuMemPrefetchAsync"), address, bytes, device, stream));
}

PUBLIC int cuStreamCreate(void **stream, unsigned flags)
{
    (void)flags;
    return HERE(driver_stream_new(here("cuStreamCreate"), stream));
}
PUBLIC int cuStreamDestroy_v2(void *stream)
{
    return HERE(driver_stream_free(here("cuStreamDestroy_v2"), stream));
}
PUBLIC int cuStreamSynchronize(void *stream)
{
    return HERE(driver_stream_wait(here("cuStreamSynchronize"), stream));
}
PUBLIC int cuCtxSynchronize(void) { return HERE(driver_device_wait(here("cuCtxSynchronize"))); }
PUBLIC int cuStreamQuery(void *stream)
{
    return HERE(driver_stream_query(here("cuStreamQuery"), stream));
}
PUBLIC int cuStreamGetCtx(void *stream, const struct context **context)
{
    int device = 0;
    int code = driver_stream_device(here("cuStreamGetCtx"), stream, &device);
    if (code == CODE_OK)
        *context = &contexts[device];
    return code;
}
PUBLIC int cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    (void)flags;
    return HERE(driver_stream_after(here("cuStreamWaitEvent"), stream, event));
}
PUBLIC int cuEventCreate(void **event, unsigned flags)
{
    enum { DISABLE_TIMING = 2 };
    return HERE(driver_event_new(here("cuEventCreate"), (flags & DISABLE_TIMING) == 0, event));
}
PUBLIC int cuEventDestroy_v2(void *event)
{
    return HERE(driver_event_free(here("cuEventDestroy_v2"), event));
}
PUBLIC int cuEventRecord(void *event, void *stream)
{
    return HERE(driver_event_record(here("cuEventRecord"), event, stream));
}
PUBLIC int cuEventQuery(void *event)
{
    return HERE(driver_event_query(here("cuEventQuery"), event));
}
PUBLIC int cuEventSynchronize(void *event)
{
    return HERE(driver_event_wait(here("cuEventSynchronize"), event));
}
PUBLIC int cuEventElapsedTime(float *ms, void *from, void *to)
{
    return driver_event_elapsed(here("cuEventElapsedTime"), from, to, ms);
}

PUBLIC int cuMemcpy(uint64_t to, uint64_t from, size_t bytes)
{
    return HERE(driver_copy(here("cuMemcpy"), to, from, bytes, NULL, true));
}
PUBLIC int cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, void *stream)
{
    return HERE(driver_copy(here("cuMemcpyAsync"), to, from, bytes, stream, false));
}
PUBLIC int cuMemcpyPeerAsync(uint64_t to, const struct context *to_context, uint64_t from,
                             const struct context *from_context, size_t bytes, void *stream)
{
    return to_context == NULL || from_context == NULL
               ? CODE_INVALID_CONTEXT
               : HERE(driver_copy(here("cuMemcpyPeerAsync"), to, from, bytes, stream, false));
}
PUBLIC int cuMemsetD8Async(uint64_t to, unsigned char byte, size_t bytes, void *stream)
{
    return HERE(driver_fill(here("cuMemsetD8Async"), to, byte, bytes, stream));
}

PUBLIC int cuModuleLoadData(void **module, const void *image)
{
    return HERE(driver_module_load(here("cuModuleLoadData"), image, module));
}
PUBLIC int cuModuleUnload(void *module)
{
    return HERE(driver_module_unload(here("cuModuleUnload"), module));
}
PUBLIC int cuModuleGetFunction(void **function, void *module, const char *name)
{
    return HERE(driver_function(here("cuModuleGetFunction"), module, name, function));
}
PUBLIC int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    return HERE(driver_function_threads(here("cuFuncGetAttribute"), function, attribute, value));
}
PUBLIC int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                          void *stream, void **arguments, void **extra)
{
    (void)shared;
    return HERE(
        driver_launch(here("cuLaunchKernel"), function, (const unsigned[]){grid_x, grid_y, grid_z},
                      (const unsigned[]){block_x, block_y, block_z}, stream, arguments, extra));
}
