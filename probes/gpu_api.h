/**
 * The calls of a GPU runtime that the probe makes: one table, filled by gpu_cuda.c (CUDA's driver API) and by gpu_hip.c (HIP), both looked
 * up at run time, so that the probe links to neither. No call whose structures changed between versions of a runtime is in it.
 *
 * Every call returns the runtime's own code, 0 for success; fault says what kind of failure a code is and text words it. A call that the
 * runtime lacks returns GPU_MISSING, never crashes. Outputs are untouched on failure. Calls may be made by any thread; what belongs to a device is
 * made current for the calling thread by enter.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t gpu_address; /* memory as kernels and copies see it, on whatever device or host it is */
typedef void *gpu_context;
typedef void *gpu_stream;
typedef void *gpu_event;
typedef void *gpu_module;
typedef void *gpu_function;

#define GPU_MISSING (-1) /* the runtime has no such call */

enum gpu_fault {
    GPU_FAULT_NONE,
    GPU_FAULT_MEMORY,      /* out of memory */
    GPU_FAULT_UNSUPPORTED, /* this device or runtime cannot do it */
    GPU_FAULT_PEER,        /* no access between these devices */
    GPU_FAULT_LOST,        /* the device is gone or its context is broken: every later call fails */
    GPU_FAULT_OTHER
};

enum gpu_attribute {
    GPU_ATTRIBUTE_MULTIPROCESSORS,
    GPU_ATTRIBUTE_CLOCK_KHZ,
    GPU_ATTRIBUTE_L2_BYTES,
    GPU_ATTRIBUTE_ARCH_MAJOR,
    GPU_ATTRIBUTE_ARCH_MINOR,
    GPU_ATTRIBUTE_COPY_ENGINES,        /* asynchronous copy engines */
    GPU_ATTRIBUTE_INTEGRATED,          /* shares the host's memory */
    GPU_ATTRIBUTE_MANAGED,             /* managed memory, touched by host and device at the same time */
    GPU_ATTRIBUTE_PAGEABLE,            /* reaches memory of malloc */
    GPU_ATTRIBUTE_PAGEABLE_BY_HOST,    /* ... through the host's page tables (ATS) */
    GPU_ATTRIBUTE_HOST_NUMA,           /* nearest NUMA node of the host; -1 unknown */
    GPU_ATTRIBUTE_COUNT
};

enum gpu_host_kind {
    GPU_HOST_PINNED,      /* the runtime's default */
    GPU_HOST_COHERENT,    /* AMD: fine-grained */
    GPU_HOST_NONCOHERENT, /* AMD: coarse-grained */
};

enum gpu_advice { GPU_ADVISE_HOST, GPU_ADVISE_DEVICE, GPU_ADVISE_ACCESSED_BY, GPU_ADVISE_NONE };

struct gpu_api {
    const char *name; /* "cuda", "hip" */
    const char *library;
    bool is_standin;  /* the library says that it is a stand-in for tests; nothing it gives is a measurement of a machine */

    enum gpu_fault (*fault)(int code);
    const char *(*text)(int code);

    int (*init)(void);
    int (*version)(int *ret_version); /* of the driver, as the runtime counts */
    int (*count)(int *ret_count);
    int (*attribute)(int device, enum gpu_attribute attribute, int *ret_value);
    int (*device_name)(int device, char *buffer, size_t size);
    int (*device_uuid)(int device, char *buffer, size_t size); /* "GPU-...", as nvidia-smi and rocm-smi print it */
    int (*device_pci)(int device, char *buffer, size_t size);  /* "0000:c1:00.0", lower case */
    int (*device_bytes)(int device, uint64_t *ret_bytes);

    /* A context of the probe's own, current for the calling thread afterwards. HIP has one for each device. */
    int (*open)(int device, gpu_context *ret_context);
    int (*close)(int device, gpu_context context);
    int (*enter)(int device, gpu_context context);
    int (*can_access)(int device, int peer, bool *ret_can);
    int (*access_peer)(int peer, gpu_context peer_context); /* by the entered device; done already is success */

    /* Memory of the entered device; free space in it. */
    int (*alloc)(size_t bytes, gpu_address *ret_address);
    int (*free)(gpu_address address);
    int (*space)(size_t *ret_free, size_t *ret_total);
    /* Host memory. registered memory is the caller's own (mmap, mbind). address is how the entered device sees it. */
    int (*host_alloc)(size_t bytes, enum gpu_host_kind kind, void **ret_memory);
    int (*host_free)(void *memory);
    int (*host_register)(void *memory, size_t bytes, enum gpu_host_kind kind);
    int (*host_unregister)(void *memory);
    int (*host_address)(void *memory, gpu_address *ret_address);
    int (*managed_alloc)(size_t bytes, gpu_address *ret_address); /* freed by free */
    int (*managed_advise)(gpu_address address, size_t bytes, enum gpu_advice advice, int device);
    int (*managed_prefetch)(gpu_address address, size_t bytes, int device, gpu_stream stream); /* device -1: to the host */

    int (*stream_new)(gpu_stream *ret_stream); /* of the entered device; does not wait for the default stream */
    int (*stream_free)(gpu_stream stream);
    int (*stream_wait)(gpu_stream stream); /* the host waits until all in it is done */
    int (*stream_after)(gpu_stream stream, gpu_event event);
    int (*stream_done)(gpu_stream stream, bool *ret_done); /* never waits */
    int (*event_new)(gpu_event *ret_event); /* with a time */
    int (*event_free)(gpu_event event);
    int (*event_record)(gpu_event event, gpu_stream stream);
    int (*event_elapsed)(gpu_event from, gpu_event to, double *ret_ns);

    int (*copy)(gpu_address to, gpu_address from, size_t bytes, gpu_stream stream); /* the runtime sees from the addresses what they are */
    int (*copy_peer)(gpu_address to, int to_device, gpu_context to_context, gpu_address from, int from_device, gpu_context from_context, size_t bytes,
                     gpu_stream stream);
    int (*fill)(gpu_address to, uint8_t byte, size_t bytes, gpu_stream stream);

    int (*module_load)(const void *image, gpu_module *ret_module); /* for the entered device */
    int (*module_unload)(gpu_module module);
    int (*module_function)(gpu_module module, const char *name, gpu_function *ret_function);
    /* All kernels take one structure by value (gpu_kernels.h). */
    int (*launch)(gpu_function function, unsigned grid, unsigned block, gpu_stream stream, const void *args, size_t args_size);
};

/* NULL when its library is not there or lacks calls without which nothing can be measured; ret_why, of why_size, says which then. The tables are
 * static and filled once, before threads. */
const struct gpu_api *gpu_cuda_api(char *ret_why, size_t why_size);
const struct gpu_api *gpu_hip_api(char *ret_why, size_t why_size);
