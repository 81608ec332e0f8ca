/**
 * libamdhip64.so.7 for tests: HIP's names, forwarded to libcuda.so.1, so that the HIP side of the
 * GPU probe runs for real on an NVIDIA GPU. As HIP does, it has one context for each device, made
 * at its first use, and a current device for each thread. Modules are nvcc's. What was measured
 * through it says origin standin.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT extern const char berth_standin[], berth_standin_takes_cuda[];
const char berth_standin[] = "HIP forwarded to CUDA";
const char berth_standin_takes_cuda[] = "its modules are nvcc's";

#define DEVICES_MAX 64
enum { NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_VALUE = 1 };

typedef uint64_t address;
typedef void *handle;

#define CALLS(X)                                                                                   \
    X(cuInit, (unsigned flags))                                                                    \
    X(cuDriverGetVersion, (int *version))                                                          \
    X(cuGetErrorString, (int code, const char **text))                                             \
    X(cuDeviceGetCount, (int *count))                                                              \
    X(cuDeviceGetAttribute, (int *value, int attribute, int device))                               \
    X(cuDeviceGetName, (char *name, int size, int device))                                         \
    X(cuDeviceGetUuid, (unsigned char *bytes, int device))                                         \
    X(cuDeviceGetPCIBusId, (char *text, int size, int device))                                     \
    X(cuDeviceTotalMem_v2, (size_t * bytes, int device))                                           \
    X(cuDevicePrimaryCtxSetFlags_v2, (int device, unsigned flags))                                 \
    X(cuDevicePrimaryCtxRetain, (handle * context, int device))                                    \
    X(cuDevicePrimaryCtxRelease_v2, (int device))                                                  \
    X(cuCtxSetCurrent, (handle context))                                                           \
    X(cuDeviceCanAccessPeer, (int *can, int device, int peer))                                     \
    X(cuCtxEnablePeerAccess, (handle peer, unsigned flags))                                        \
    X(cuMemAlloc_v2, (address * memory, size_t bytes))                                             \
    X(cuMemFree_v2, (address memory))                                                              \
    X(cuMemGetInfo_v2, (size_t * free, size_t * total))                                            \
    X(cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags))                               \
    X(cuMemFreeHost, (void *memory))                                                               \
    X(cuMemHostRegister_v2, (void *memory, size_t bytes, unsigned flags))                          \
    X(cuMemHostUnregister, (void *memory))                                                         \
    X(cuMemHostGetDevicePointer_v2, (address * memory, void *host, unsigned flags))                \
    X(cuMemAllocManaged, (address * memory, size_t bytes, unsigned flags))                         \
    X(cuMemAdvise, (address memory, size_t bytes, int advice, int device))                         \
    X(cuMemPrefetchAsync, (address memory, size_t bytes, int device, handle stream))               \
    X(cuStreamCreate, (handle * stream, unsigned flags))                                           \
    X(cuStreamDestroy_v2, (handle stream))                                                         \
    X(cuStreamSynchronize, (handle stream))                                                        \
    X(cuStreamWaitEvent, (handle stream, handle event, unsigned flags))                            \
    X(cuStreamQuery, (handle stream))                                                              \
    X(cuEventCreate, (handle * event, unsigned flags))                                             \
    X(cuEventDestroy_v2, (handle event))                                                           \
    X(cuEventRecord, (handle event, handle stream))                                                \
    X(cuEventElapsedTime, (float *ms, handle from, handle to))                                     \
    X(cuMemcpyAsync, (address to, address from, size_t bytes, handle stream))                      \
    X(cuMemcpy, (address to, address from, size_t bytes))                                          \
    X(cuMemcpyPeerAsync, (address to, handle to_context, address from, handle from_context,        \
                          size_t bytes, handle stream))                                            \
    X(cuMemsetD8Async, (address to, unsigned char byte, size_t bytes, handle stream))              \
    X(cuModuleLoadData, (handle * module, const void *image))                                      \
    X(cuModuleUnload, (handle module))                                                             \
    X(cuModuleGetFunction, (handle * function, handle module, const char *name))                   \
    X(cuFuncGetAttribute, (int *value, int attribute, handle function))                            \
    X(cuLaunchKernel, (handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,         \
                       unsigned block_x, unsigned block_y, unsigned block_z,                       \
                       unsigned shared_bytes, handle stream, void **arguments, void **extra))

static struct {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration */
#define MEMBER(name, arguments) int(*name) arguments;
    CALLS(MEMBER)
    int is_there;
    pthread_mutex_t gate;
    handle context[DEVICES_MAX];
} cuda = {.gate = PTHREAD_MUTEX_INITIALIZER};
static _Thread_local int current;
static _Thread_local handle entered;

static void load(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    int missing = library == NULL;
    void *symbol;
#define FIND(name, arguments)                                                                      \
    symbol = library == NULL ? NULL : dlsym(library, #name);                                       \
    missing |= symbol == NULL;                                                                     \
    memcpy(&cuda.name, &symbol, sizeof symbol);
    CALLS(FIND)
    cuda.is_there = !missing;
}

static int ready(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return cuda.is_there;
}

static int context_of(int device, handle *ret_context)
{
    int code = 0;
    if (device < 0 || device >= DEVICES_MAX || !ready())
        return INVALID_DEVICE;
    pthread_mutex_lock(&cuda.gate);
    if (cuda.context[device] == NULL)
        code = cuda.cuDevicePrimaryCtxRetain(&cuda.context[device], device);
    *ret_context = cuda.context[device];
    pthread_mutex_unlock(&cuda.gate);
    return code;
}

/* Makes the thread's device current for CUDA as well, which a new thread has not done. */
static int enter(void)
{
    handle context;
    int code = context_of(current, &context);
    if (code == 0 && context != entered)
        code = cuda.cuCtxSetCurrent(context);
    entered = code == 0 ? context : NULL;
    return code;
}

static address number(const void *pointer) { return (address)(uintptr_t)pointer; }

EXPORT int hipInit(unsigned flags) { return ready() ? cuda.cuInit(flags) : NO_DEVICE; }
EXPORT int hipDriverGetVersion(int *version)
{
    return ready() ? cuda.cuDriverGetVersion(version) : NOT_INITIALIZED;
}
EXPORT int hipGetDeviceCount(int *count)
{
    return ready() ? cuda.cuDeviceGetCount(count) : NO_DEVICE;
}

EXPORT const char *hipGetErrorString(int code)
{
    const char *text = "no libcuda.so.1 to forward to";
    return ready() && cuda.cuGetErrorString(code, &text) != 0 ? "unknown error" : text;
}

EXPORT int hipDeviceGetAttribute(int *value, int attribute, int device)
{
    static const struct {
        int hip, cuda;
    } numbers[] = {{63, 16}, {5, 13},  {19, 38}, {23, 75}, {61, 76},
                   {2, 40},  {16, 18}, {9, 89},  {65, 88}, {66, 100}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i].hip == attribute)
            return ready() ? cuda.cuDeviceGetAttribute(value, numbers[i].cuda, device) : NO_DEVICE;
    return INVALID_VALUE;
}

EXPORT int hipDeviceGetName(char *name, int size, int device)
{
    return ready() ? cuda.cuDeviceGetName(name, size, device) : NO_DEVICE;
}
EXPORT int hipDeviceGetUuid(unsigned char *bytes, int device)
{
    return ready() ? cuda.cuDeviceGetUuid(bytes, device) : NO_DEVICE;
}
EXPORT int hipDeviceGetPCIBusId(char *text, int size, int device)
{
    return ready() ? cuda.cuDeviceGetPCIBusId(text, size, device) : NO_DEVICE;
}
EXPORT int hipDeviceTotalMem(size_t *bytes, int device)
{
    return ready() ? cuda.cuDeviceTotalMem_v2(bytes, device) : NO_DEVICE;
}

EXPORT int hipSetDevice(int device)
{
    int before = current;
    current = device;
    int code = enter();
    if (code != 0)
        current = before;
    return code;
}

EXPORT int hipSetDeviceFlags(unsigned flags)
{
    return ready() ? cuda.cuDevicePrimaryCtxSetFlags_v2(current, flags) : NO_DEVICE;
}

EXPORT int hipDeviceReset(void)
{
    int code = 0;
    pthread_mutex_lock(&cuda.gate);
    if (cuda.context[current] != NULL)
        code = cuda.cuDevicePrimaryCtxRelease_v2(current);
    cuda.context[current] = NULL;
    entered = NULL;
    pthread_mutex_unlock(&cuda.gate);
    return code;
}

EXPORT int hipDeviceCanAccessPeer(int *can, int device, int peer)
{
    return ready() ? cuda.cuDeviceCanAccessPeer(can, device, peer) : NO_DEVICE;
}

EXPORT int hipDeviceEnablePeerAccess(int peer, unsigned flags)
{
    handle context;
    int code = enter();
    if (code == 0)
        code = context_of(peer, &context);
    return code != 0 ? code : cuda.cuCtxEnablePeerAccess(context, flags);
}

EXPORT int hipMalloc(void **memory, size_t bytes)
{
    address at = 0;
    int code = enter();
    if (code == 0)
        code = cuda.cuMemAlloc_v2(&at, bytes);
    *memory = (void *)(uintptr_t)at;
    return code;
}

EXPORT int hipFree(void *memory)
{
    int code = enter();
    return code != 0 || memory == NULL ? code : cuda.cuMemFree_v2(number(memory));
}

EXPORT int hipMemGetInfo(size_t *free, size_t *total)
{
    int code = enter();
    return code != 0 ? code : cuda.cuMemGetInfo_v2(free, total);
}

/* Portable and mapped mean the same here; coherent and not, and coarse, are AMD's alone. */
#define HOST_FLAGS 0x3U

EXPORT int hipHostMalloc(void **memory, size_t bytes, unsigned flags)
{
    int code = enter();
    return code != 0 ? code : cuda.cuMemHostAlloc(memory, bytes, flags & HOST_FLAGS);
}

EXPORT int hipHostFree(void *memory) { return ready() ? cuda.cuMemFreeHost(memory) : NO_DEVICE; }

EXPORT int hipHostRegister(void *memory, size_t bytes, unsigned flags)
{
    int code = enter();
    return code != 0 ? code : cuda.cuMemHostRegister_v2(memory, bytes, flags & HOST_FLAGS);
}

EXPORT int hipHostUnregister(void *memory)
{
    return ready() ? cuda.cuMemHostUnregister(memory) : NO_DEVICE;
}

EXPORT int hipHostGetDevicePointer(void **device, void *memory, unsigned flags)
{
    address at = 0;
    int code = enter();
    if (code == 0)
        code = cuda.cuMemHostGetDevicePointer_v2(&at, memory, flags);
    *device = (void *)(uintptr_t)at;
    return code;
}

EXPORT int hipMallocManaged(void **memory, size_t bytes, unsigned flags)
{
    address at = 0;
    int code = enter();
    if (code == 0)
        code = cuda.cuMemAllocManaged(&at, bytes, flags);
    *memory = (void *)(uintptr_t)at;
    return code;
}

EXPORT int hipMemAdvise(const void *memory, size_t bytes, int advice, int device)
{
    return ready() ? cuda.cuMemAdvise(number(memory), bytes, advice, device) : NO_DEVICE;
}

EXPORT int hipMemPrefetchAsync(const void *memory, size_t bytes, int device, handle stream)
{
    return ready() ? cuda.cuMemPrefetchAsync(number(memory), bytes, device, stream) : NO_DEVICE;
}

EXPORT int hipStreamCreateWithFlags(handle *stream, unsigned flags)
{
    int code = enter();
    return code != 0 ? code : cuda.cuStreamCreate(stream, flags);
}

EXPORT int hipStreamDestroy(handle stream)
{
    return ready() ? cuda.cuStreamDestroy_v2(stream) : NO_DEVICE;
}
EXPORT int hipStreamSynchronize(handle stream)
{
    return ready() ? cuda.cuStreamSynchronize(stream) : NO_DEVICE;
}
EXPORT int hipStreamWaitEvent(handle stream, handle event, unsigned flags)
{
    return ready() ? cuda.cuStreamWaitEvent(stream, event, flags) : NO_DEVICE;
}
EXPORT int hipStreamQuery(handle stream)
{
    return ready() ? cuda.cuStreamQuery(stream) : NO_DEVICE;
}

EXPORT int hipEventCreateWithFlags(handle *event, unsigned flags)
{
    int code = enter();
    return code != 0 ? code : cuda.cuEventCreate(event, flags);
}

EXPORT int hipEventDestroy(handle event)
{
    return ready() ? cuda.cuEventDestroy_v2(event) : NO_DEVICE;
}
EXPORT int hipEventRecord(handle event, handle stream)
{
    return ready() ? cuda.cuEventRecord(event, stream) : NO_DEVICE;
}
EXPORT int hipEventElapsedTime(float *ms, handle from, handle to)
{
    return ready() ? cuda.cuEventElapsedTime(ms, from, to) : NO_DEVICE;
}

EXPORT int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, handle stream)
{
    (void)kind;
    int code = enter();
    return code != 0 ? code : cuda.cuMemcpyAsync(number(to), number(from), bytes, stream);
}

EXPORT int hipMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    (void)kind;
    int code = enter();
    return code != 0 ? code : cuda.cuMemcpy(number(to), number(from), bytes);
}

EXPORT int hipMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                              size_t bytes, handle stream)
{
    handle to_context, from_context;
    int code = context_of(to_device, &to_context);
    if (code == 0)
        code = context_of(from_device, &from_context);
    if (code == 0)
        code = enter();
    return code != 0 ? code
                     : cuda.cuMemcpyPeerAsync(number(to), to_context, number(from), from_context,
                                              bytes, stream);
}

EXPORT int hipMemsetAsync(void *to, int byte, size_t bytes, handle stream)
{
    int code = enter();
    return code != 0 ? code : cuda.cuMemsetD8Async(number(to), (unsigned char)byte, bytes, stream);
}

EXPORT int hipModuleLoadData(handle *module, const void *image)
{
    int code = enter();
    return code != 0 ? code : cuda.cuModuleLoadData(module, image);
}

EXPORT int hipModuleUnload(handle module)
{
    int code = enter();
    return code != 0 ? code : cuda.cuModuleUnload(module);
}

EXPORT int hipModuleGetFunction(handle *function, handle module, const char *name)
{
    int code = enter();
    return code != 0 ? code : cuda.cuModuleGetFunction(function, module, name);
}

EXPORT int hipFuncGetAttribute(int *value, int attribute, handle function)
{
    int code = enter();
    return code != 0 ? code : cuda.cuFuncGetAttribute(value, attribute, function);
}

/* extra is a list that ends in 3 for HIP and in 0 for CUDA; both have 1 and 2 for the buffer and
 * its size. */
EXPORT int hipModuleLaunchKernel(handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z,
                                 unsigned shared_bytes, handle stream, void **arguments,
                                 void **extra)
{
    void *list[5] = {NULL};
    for (size_t i = 0;
         extra != NULL && i + 1 < sizeof list / sizeof list[0] && number(extra[i]) != 3; i += 2) {
        list[i] = extra[i];
        list[i + 1] = extra[i + 1];
    }
    int code = enter();
    return code != 0
               ? code
               : cuda.cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                     shared_bytes, stream, arguments, extra != NULL ? list : NULL);
}
