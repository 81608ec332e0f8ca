/**
 * The GPU driver of this process, CUDA's or HIP's, behind one table. It is looked up at run time,
 * so the library links to neither and needs no header of theirs.
 *
 * Calls return the driver's own code, 0 for success: lib_driver_text words it. Both drivers have
 * the same numbers. Devices are numbered as the driver numbers them.
 */
#pragma once
#include "lib/lib.h"

#define LIB_DEVICES_MAX 16

enum {
    LIB_DRIVER_REFUSED = 801, /* "not supported" */
    LIB_DRIVER_PEER_ALREADY = 704,
    LIB_DRIVER_NO_PEER = 217,
    LIB_DRIVER_BAD_VALUE = 1
};

/* Calls that have one form in both drivers. Addresses of devices count as pointers. */
#define LIB_DRIVER_CALLS(NEEDED, WANTED)                                                           \
    NEEDED(init, cuInit, hipInit, (unsigned flags))                                                \
    NEEDED(version, cuDriverGetVersion, hipDriverGetVersion, (int *version))                       \
    NEEDED(get_count, cuDeviceGetCount, hipGetDeviceCount, (int *count))                           \
    NEEDED(pci, cuDeviceGetPCIBusId, hipDeviceGetPCIBusId, (char *text, int size, int device))     \
    NEEDED(can_access, cuDeviceCanAccessPeer, hipDeviceCanAccessPeer,                              \
           (int *can, int device, int peer))                                                       \
    NEEDED(alloc, cuMemAlloc_v2, hipMalloc, (void **memory, size_t bytes))                         \
    NEEDED(free, cuMemFree_v2, hipFree, (void *memory))                                            \
    NEEDED(host_register, cuMemHostRegister_v2, hipHostRegister,                                   \
           (void *memory, size_t bytes, unsigned flags))                                           \
    NEEDED(host_unregister, cuMemHostUnregister, hipHostUnregister, (void *memory))                \
    WANTED(managed, cuMemAllocManaged, hipMallocManaged,                                           \
           (void **memory, size_t bytes, unsigned flags))                                          \
    WANTED(advise, cuMemAdvise, hipMemAdvise,                                                      \
           (const void *memory, size_t bytes, int advice, int device))                             \
    NEEDED(attribute, cuPointerGetAttribute, hipPointerGetAttribute,                               \
           (void *value, int attribute, const void *memory))                                       \
    NEEDED(stream_new, cuStreamCreate, hipStreamCreateWithFlags, (void **stream, unsigned flags))  \
    NEEDED(stream_free, cuStreamDestroy_v2, hipStreamDestroy, (void *stream))                      \
    NEEDED(stream_wait, cuStreamSynchronize, hipStreamSynchronize, (void *stream))                 \
    NEEDED(stream_after, cuStreamWaitEvent, hipStreamWaitEvent,                                    \
           (void *stream, void *event, unsigned flags))                                            \
    WANTED(is_capturing, cuStreamIsCapturing, hipStreamIsCapturing, (void *stream, int *status))   \
    NEEDED(event_new, cuEventCreate, hipEventCreateWithFlags, (void **event, unsigned flags))      \
    NEEDED(event_free, cuEventDestroy_v2, hipEventDestroy, (void *event))                          \
    NEEDED(event_record, cuEventRecord, hipEventRecord, (void *event, void *stream))

/* A PCI address; equal ones have equal bytes. */
struct lib_pci {
    unsigned domain, bus, device, function;
};

struct lib_driver {
    void *library; /* of dlopen; stays loaded */
    bool is_hip;
    int host_type; /* of a pointer to host memory that the driver knows; a device's is one more */
    int count;     /* devices */
    struct lib_pci place[LIB_DEVICES_MAX];
    void *context[LIB_DEVICES_MAX]; /* CUDA: primary contexts, retained; NULL not yet */
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration */
#define MEMBER(name, cuda, hip, arguments) int(*name) arguments;
    LIB_DRIVER_CALLS(MEMBER, MEMBER)
#undef MEMBER
    /* Calls with a form of their own in each driver. */
    union {
        struct {
            int (*text)(int code, const char **ret_text);
            int (*get_context)(void **ret_context);
            int (*set_context)(void *context);
            int (*retain)(void **ret_context, int device);
            int (*release)(int device);
            int (*state)(int device, unsigned *ret_flags, int *ret_active);
            int (*stream_context)(void *stream, void **ret_context);
            int (*access_peer)(void *peer_context, unsigned flags);
            int (*copy)(void *to, const void *from, size_t bytes, void *stream);
        } cuda;
        struct {
            const char *(*text)(int code);
            int (*get_device)(int *ret_device);
            int (*set_device)(int device);
            int (*stream_device)(void *stream, int *ret_device);
            int (*access_peer)(int peer, unsigned flags);
            int (*copy)(void *to, const void *from, size_t bytes, int kind, void *stream);
        } hip;
    };
};

/* The context or device before lib_driver_enter. */
struct lib_driver_place {
    void *context;
    int device;
};

/* Opens the driver that the process has loaded, else CUDA's, else HIP's. NULL without a usable one;
 * why then says it in one sentence. Ends with lib_driver_free. */
struct lib_driver *lib_driver_open(char *why, size_t size);
/* Releases the contexts. NULL is fine. */
void lib_driver_free(struct lib_driver *driver);

const char *lib_driver_text(const struct lib_driver *driver, int code);

/* Makes a device current for the calling thread, and what was current before. The first one of a
 * device may open its context, which takes a while. */
int lib_driver_save(const struct lib_driver *driver, struct lib_driver_place *ret_before);
int lib_driver_enter(struct lib_driver *driver, int device);
void lib_driver_leave(const struct lib_driver *driver, const struct lib_driver_place *before);

/* Gives the current device access to a peer's memory. */
int lib_driver_access(struct lib_driver *driver, int device, int peer);

int lib_driver_copy(const struct lib_driver *driver, void *to, const void *from, size_t bytes,
                    void *stream);

/* True when a stream, or NULL's of the current context, is in the context that a device's memory
 * has by default. Opens no context. */
bool lib_driver_has_stream(struct lib_driver *driver, int device, void *stream);

enum lib_memory { LIB_MEMORY_OTHER, LIB_MEMORY_PINNED, LIB_MEMORY_DEVICE };

/* Tells where an address lies. OTHER: managed, unknown to the driver, or in a context of the
 * program's own. ret_device: of DEVICE. Opens no context. */
enum lib_memory lib_driver_memory(struct lib_driver *driver, const void *memory, int *ret_device);

/* Reads an address such as 0000:c1:00.0; false for other text, and for NULL. */
bool lib_driver_pci(const char *text, struct lib_pci *ret_pci);
