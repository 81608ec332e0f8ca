/*
 * HIP by its binary names, as far as the probe calls it, on the virtual node.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

/* Their prototypes are in headers that need not be there. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define PUBLIC __attribute__((visibility("default")))

/* By this a program knows that what it measures is no machine. */
PUBLIC extern const char berth_standin[];
const char berth_standin[] = "berth's stand-in for libamdhip64.so.5";

/* Each thread has a current device, at first the first one. Whether a device was ever current,
 * which opens it, is only known here. */
static _Thread_local int current;
static _Atomic bool opened[MODEL_DEVICES_MAX];

static struct driver_call at(const char *name, int device)
{
    return (struct driver_call){name, device};
}

static int open_current(void)
{
    if (opened[current])
        return CODE_OK;
    int code = driver_open(at("hipSetDevice", current));
    opened[current] = code == CODE_OK;
    return code;
}

static struct driver_call here(const char *name) { return at(name, current); }

/* Calls that need the device open it. */
static _Thread_local int opening;
#define HERE(call) ((opening = open_current()) != CODE_OK ? opening : (int)(call))

PUBLIC int hipInit(unsigned flags)
{
    return flags != 0                                ? CODE_INVALID_VALUE
           : strcmp(driver_model()->api, "hip") != 0 ? CODE_NO_DEVICE
                                                     : driver_init(at("hipInit", -1));
}
PUBLIC int hipDriverGetVersion(int *version) { return *version = driver_model()->driver, CODE_OK; }
PUBLIC int hipRuntimeGetVersion(int *version) { return *version = driver_model()->driver, CODE_OK; }
PUBLIC const char *hipGetErrorString(int code) { return driver_text(code); }
PUBLIC int hipGetDeviceCount(int *count)
{
    return driver_count(at("hipGetDeviceCount", -1), count);
}

PUBLIC int hipDeviceGetAttribute(int *value, int attribute, int device)
{
    const struct model_device *facts;
    int code = driver_device(at("hipDeviceGetAttribute", device), device, &facts);
    if (code != CODE_OK)
        return code;
    const struct {
        int attribute, value;
    } values[] = {{2, facts->engines},
                  {3, 1},
                  {5, facts->khz},
                  {9, facts->managed},
                  {16, facts->integrated},
                  {19, facts->l2},
                  {23, facts->major},
                  {24, facts->managed},
                  {56, 1024},
                  {57, facts->threads},
                  {61, facts->minor},
                  {63, facts->multiprocessors},
                  {65, facts->pageable},
                  {66, facts->ats},
                  {85, 1},
                  {87, 64}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i].attribute == attribute) {
            *value = values[i].value;
            return CODE_OK;
        }
    return CODE_INVALID_VALUE;
}

PUBLIC int hipDeviceGetName(char *name, int size, int device)
{
    const struct model_device *facts;
    int code = driver_device(at("hipDeviceGetName", device), device, &facts);
    if (code == CODE_OK)
        snprintf(name, (size_t)size, "%s", facts->model);
    return code;
}

/* Sixteen characters, the digits of the device's unique number. */
PUBLIC int hipDeviceGetUuid(unsigned char *bytes, int device)
{
    const struct model_device *facts;
    int code = driver_device(at("hipDeviceGetUuid", device), device, &facts);
    if (code != CODE_OK)
        return code;
    char text[48];
    snprintf(text, sizeof text, "%-20.20s", facts->uuid);
    memcpy(bytes, text + 4, 16);
    return CODE_OK;
}

PUBLIC int hipDeviceGetPCIBusId(char *address, int size, int device)
{
    const struct model_device *facts;
    int code = driver_device(at("hipDeviceGetPCIBusId", device), device, &facts);
    if (code == CODE_OK)
        snprintf(address, (size_t)size, "%s", facts->pci);
    return code;
}

PUBLIC int hipDeviceTotalMem(size_t *bytes, int device)
{
    const struct model_device *facts;
    int code = driver_device(at("hipDeviceTotalMem", device), device, &facts);
    if (code == CODE_OK)
        *bytes = facts->bytes;
    return code;
}

PUBLIC int hipSetDevice(int device)
{
    const struct model_device *facts;
    int code = driver_device(at("hipSetDevice", device), device, &facts);
    if (code == CODE_OK)
        current = device;
    return code;
}

PUBLIC int hipGetDevice(int *device) { return *device = current, CODE_OK; }
PUBLIC int hipSetDeviceFlags(unsigned flags)
{
    return (void)flags, HERE(driver_enter(here("hipSetDeviceFlags")));
}
PUBLIC int hipDeviceReset(void)
{
    int code = opened[current] ? (int)driver_close(here("hipDeviceReset")) : CODE_OK;
    opened[current] = false;
    return code;
}
PUBLIC int hipDeviceSynchronize(void)
{
    return HERE(driver_device_wait(here("hipDeviceSynchronize")));
}
PUBLIC int hipDeviceCanAccessPeer(int *can, int device, int peer)
{
    return driver_can_access(at("hipDeviceCanAccessPeer", device), peer, can);
}
PUBLIC int hipDeviceEnablePeerAccess(int peer, unsigned flags)
{
    return (void)flags, HERE(driver_access_peer(here("hipDeviceEnablePeerAccess"), peer));
}

static int give_pointer(int code, const uint64_t *address, void **ret)
{
    if (code == CODE_OK)
        *ret = (void *)(uintptr_t)*address;
    return code;
}

static enum model_kind kind_of(unsigned flags)
{
    enum { COHERENT = 0x40000000 };
    return (flags & 0x80000000U) != 0 ? MODEL_NONCOHERENT
           : (flags & COHERENT) != 0  ? MODEL_COHERENT
                                      : MODEL_PINNED;
}

PUBLIC int hipMalloc(void **memory, size_t bytes)
{
    uint64_t address = 0;
    return give_pointer(HERE(driver_alloc(here("hipMalloc"), bytes, &address)), &address, memory);
}
PUBLIC int hipFree(void *memory)
{
    return HERE(driver_free(here("hipFree"), (uint64_t)(uintptr_t)memory));
}
PUBLIC int hipMemGetInfo(size_t *left, size_t *total)
{
    return HERE(driver_space(here("hipMemGetInfo"), left, total));
}
PUBLIC int hipHostMalloc(void **memory, size_t bytes, unsigned flags)
{
    return HERE(driver_host_alloc(here("hipHostMalloc"), bytes, kind_of(flags), memory));
}
PUBLIC int hipHostFree(void *memory)
{
    return HERE(driver_free(here("hipHostFree"), (uint64_t)(uintptr_t)memory));
}
PUBLIC int hipHostRegister(void *memory, size_t bytes, unsigned flags)
{
    enum { COARSE = 0x8 };
    return HERE(driver_register(here("hipHostRegister"), memory, bytes,
                                (flags & COARSE) != 0 ? MODEL_NONCOHERENT : MODEL_PINNED));
}
PUBLIC int hipHostUnregister(void *memory)
{
    return HERE(driver_unregister(here("hipHostUnregister"), memory));
}
PUBLIC int hipHostGetDevicePointer(void **pointer, void *memory, unsigned flags)
{
    uint64_t address = 0;
    (void)flags;
    return give_pointer(
        HERE(driver_host_address(here("hipHostGetDevicePointer"), memory, &address)), &address,
        pointer);
}
PUBLIC int hipMallocManaged(void **memory, size_t bytes, unsigned flags)
{
    uint64_t address = 0;
    (void)flags;
    return give_pointer(HERE(driver_managed_alloc(here("hipMallocManaged"), bytes, &address)),
                        &address, memory);
}
/* Kinds of memory have other numbers from version 6 on. */
PUBLIC int hipPointerGetAttribute(void *value, int attribute, void *memory)
{
    enum { TYPE = 2, MANAGED = 8, DEVICE = 9, NEW_TYPES = 60000000 };
    enum memory_owner owner;
    int device;
    int code = HERE(driver_pointer(here("hipPointerGetAttribute"), (uint64_t)(uintptr_t)memory,
                                   &owner, &device));
    if (code != CODE_OK)
        return code;
    unsigned host = driver_model()->driver >= NEW_TYPES ? 1 : 0;
    if (attribute == TYPE)
        *(unsigned *)value = owner == MEMORY_DEVICE ? host + 1 : host;
    else if (attribute == MANAGED)
        *(unsigned *)value = owner == MEMORY_MANAGED;
    else if (attribute == DEVICE)
        *(int *)value = device < 0 ? 0 : device;
    else
        return CODE_INVALID_VALUE;
    return CODE_OK;
}
PUBLIC int hipMemAdvise(const void *memory, size_t bytes, int advice, int device)
{
    return HERE(
        driver_advise(here("hipMemAdvise"), (uint64_t)(uintptr_t)memory, bytes, advice, device));
}
PUBLIC int hipMemPrefetchAsync(const void *memory, size_t bytes, int device, void *stream)
{
    return HERE(driver_prefetch(here("hipMemPrefetchAsync"), (uint64_t)(uintptr_t)memory, bytes,
                                device, stream));
}

PUBLIC int hipStreamCreateWithFlags(void **stream, unsigned flags)
{
    return (void)flags, HERE(driver_stream_new(here("hipStreamCreateWithFlags"), stream));
}
PUBLIC int hipStreamDestroy(void *stream)
{
    return HERE(driver_stream_free(here("hipStreamDestroy"), stream));
}
PUBLIC int hipStreamSynchronize(void *stream)
{
    return HERE(driver_stream_wait(here("hipStreamSynchronize"), stream));
}
PUBLIC int hipStreamQuery(void *stream)
{
    return HERE(driver_stream_query(here("hipStreamQuery"), stream));
}
PUBLIC int hipStreamGetDevice(void *stream, int *device)
{
    return HERE(driver_stream_device(here("hipStreamGetDevice"), stream, device));
}
PUBLIC int hipStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    (void)flags;
    return HERE(driver_stream_after(here("hipStreamWaitEvent"), stream, event));
}
PUBLIC int hipEventCreateWithFlags(void **event, unsigned flags)
{
    enum { DISABLE_TIMING = 2 };
    return HERE(
        driver_event_new(here("hipEventCreateWithFlags"), (flags & DISABLE_TIMING) == 0, event));
}
PUBLIC int hipEventDestroy(void *event)
{
    return HERE(driver_event_free(here("hipEventDestroy"), event));
}
PUBLIC int hipEventRecord(void *event, void *stream)
{
    return HERE(driver_event_record(here("hipEventRecord"), event, stream));
}
PUBLIC int hipEventQuery(void *event)
{
    return HERE(driver_event_query(here("hipEventQuery"), event));
}
PUBLIC int hipEventSynchronize(void *event)
{
    return HERE(driver_event_wait(here("hipEventSynchronize"), event));
}
PUBLIC int hipEventElapsedTime(float *ms, void *from, void *to)
{
    return driver_event_elapsed(here("hipEventElapsedTime"), from, to, ms);
}

PUBLIC int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream)
{
    (void)kind;
    return HERE(driver_copy(here("hipMemcpyAsync"), (uint64_t)(uintptr_t)to,
                            (uint64_t)(uintptr_t)from, bytes, stream, false));
}
PUBLIC int hipMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    (void)kind;
    return HERE(driver_copy(here("hipMemcpy"), (uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)from,
                            bytes, NULL, true));
}
PUBLIC int hipMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                              size_t bytes, void *stream)
{
    (void)to_device;
    (void)from_device;
    return HERE(driver_copy(here("hipMemcpyPeerAsync"), (uint64_t)(uintptr_t)to,
                            (uint64_t)(uintptr_t)from, bytes, stream, false));
}
PUBLIC int hipMemsetAsync(void *to, int byte, size_t bytes, void *stream)
{
    return HERE(
        driver_fill(here("hipMemsetAsync"), (uint64_t)(uintptr_t)to, (uint8_t)byte, bytes, stream));
}

PUBLIC int hipModuleLoadData(void **module, const void *image)
{
    return HERE(driver_module_load(here("hipModuleLoadData"), image, module));
}
PUBLIC int hipModuleUnload(void *module)
{
    return HERE(driver_module_unload(here("hipModuleUnload"), module));
}
PUBLIC int hipModuleGetFunction(void **function, void *module, const char *name)
{
    return HERE(driver_function(here("hipModuleGetFunction"), module, name, function));
}
PUBLIC int hipFuncGetAttribute(int *value, int attribute, void *function)
{
    return HERE(driver_function_threads(here("hipFuncGetAttribute"), function, attribute, value));
}
PUBLIC int hipModuleLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z,
                                 unsigned shared, void *stream, void **arguments, void **extra)
{
    (void)shared;
    return HERE(driver_launch(
        here("hipModuleLaunchKernel"), function, (const unsigned[]){grid_x, grid_y, grid_z},
        (const unsigned[]){block_x, block_y, block_z}, stream, arguments, extra));
}
