/**
 * The calls of a GPU runtime that the probe makes, as one table. gpu/driver/cuda.c fills it for
 * CUDA's driver API, gpu/driver/hip.c for HIP, gpu/driver/api_body.h for both where they agree.
 * Both look the calls up at run time, so the probe links to neither. No call has structures that
 * changed between versions of a runtime.
 *
 * Every call takes the table first, as in api->copy(api, ...). It returns the runtime's own code, 0
 * for success: gpu_api_fault classifies a code, text words it. A call that the runtime lacks
 * returns GPU_MISSING, never crashes. Outputs are untouched on failure. Any thread may make calls;
 * enter makes a device's state current for the calling thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/why.h"

/* memory address for kernels and copies, on any device or host */
typedef uint64_t gpu_address;
typedef void *gpu_context;
typedef void *gpu_stream;
typedef void *gpu_event;
typedef void *gpu_module;
typedef void *gpu_function;

#define GPU_MISSING (-1) /* the runtime lacks the call */

enum gpu_fault {
    GPU_FAULT_NONE,
    GPU_FAULT_MEMORY,      /* out of memory */
    GPU_FAULT_UNSUPPORTED, /* the device or the runtime lacks the operation */
    GPU_FAULT_PEER,        /* no access between these devices */
    GPU_FAULT_LOST,        /* the device is gone or its context is broken: every later call fails */
    GPU_FAULT_OTHER
};

/* One end of a copy between devices. */
struct gpu_peer_end {
    gpu_address address;
    int device; /* the runtime's number */
    gpu_context context;
};

/* A failed call: its kind and one sentence. */
struct gpu_err {
    enum gpu_fault fault;
    struct probe_why why;
};

/* Kind of failure of a code of CUDA or HIP (which has CUDA's numbers). */
enum gpu_fault gpu_api_fault(int code);

enum gpu_attribute {
    GPU_ATTRIBUTE_MULTIPROCESSORS,
    GPU_ATTRIBUTE_CLOCK_KHZ,
    GPU_ATTRIBUTE_L2_BYTES,
    GPU_ATTRIBUTE_ARCH_MAJOR,
    GPU_ATTRIBUTE_ARCH_MINOR,
    GPU_ATTRIBUTE_COPY_ENGINES, /* asynchronous copy engines */
    GPU_ATTRIBUTE_INTEGRATED,   /* shares the host's memory */
    /* managed memory, touched by host and device at the same time */
    GPU_ATTRIBUTE_MANAGED,
    GPU_ATTRIBUTE_PAGEABLE,         /* reaches memory of malloc */
    GPU_ATTRIBUTE_PAGEABLE_BY_HOST, /* ... through the host's page tables (ATS) */
    GPU_ATTRIBUTE_HOST_NUMA,        /* nearest NUMA node of the host; -1 unknown */
    /* the NUMA node formed by the device's own memory; -1 none or unknown */
    GPU_ATTRIBUTE_MEMORY_NUMA,
    GPU_ATTRIBUTE_COUNT
};

enum gpu_host_kind {
    GPU_HOST_PINNED,     /* the runtime's default */
    GPU_HOST_COHERENT,   /* AMD: fine-grained */
    GPU_HOST_NONCOHERENT /* AMD: coarse-grained */
};

enum gpu_advice { GPU_ADVISE_HOST, GPU_ADVISE_DEVICE, GPU_ADVISE_ACCESSED_BY, GPU_ADVISE_NONE };

struct gpu_api {
    const char *name;    /* "cuda", "hip" */
    const char *library; /* name under which it was opened, "libcuda.so.1" */
    /* the library is a stand-in for tests; none of its values measures a machine */
    bool is_standin;
    /* its modules are nvcc's: CUDA, and a stand-in with HIP's names that forwards to it */
    bool takes_cuda;
    /* the functions found; private to gpu/driver/cuda.c and gpu/driver/hip.c */
    void *calls;

    const char *(*text)(const struct gpu_api *api, int code);

    int (*init)(const struct gpu_api *api);
    /* the driver's version, in the runtime's form */
    int (*version)(const struct gpu_api *api, int *ret_version);
    int (*count)(const struct gpu_api *api, int *ret_count);
    int (*attribute)(const struct gpu_api *api, int device, enum gpu_attribute attribute,
                     int *ret_value);
    int (*device_name)(const struct gpu_api *api, int device, char *buffer, size_t size);
    int (*device_uuid)(const struct gpu_api *api, int device, char *buffer,
                       size_t size); /* "GPU-...", in the form of nvidia-smi and rocm-smi */
    /* "0000:c1:00.0", lower case */
    int (*device_pci)(const struct gpu_api *api, int device, char *buffer, size_t size);
    int (*device_bytes)(const struct gpu_api *api, int device, uint64_t *ret_bytes);

    /* Opens the device's context, which the vendor's libraries use as well; it is current for the
     * calling thread afterwards. */
    int (*open)(const struct gpu_api *api, int device, gpu_context *ret_context);
    int (*close)(const struct gpu_api *api, int device, gpu_context context);
    int (*enter)(const struct gpu_api *api, int device, gpu_context context);
    int (*can_access)(const struct gpu_api *api, int device, int peer, bool *ret_can);
    int (*access_peer)(const struct gpu_api *api, int peer,
                       /* peer access of the entered device; access that exists already is
                        * success */
                       gpu_context peer_context);

    /* Memory of the entered device, and its free space. */
    int (*alloc)(const struct gpu_api *api, size_t bytes, gpu_address *ret_address);
    int (*free)(const struct gpu_api *api, gpu_address address);
    int (*space)(const struct gpu_api *api, size_t *ret_free, size_t *ret_total);
    /* Host memory. registered memory is the caller's own (mmap, mbind). address is valid for the
     * entered device. */
    int (*host_alloc)(const struct gpu_api *api, size_t bytes, enum gpu_host_kind kind,
                      void **ret_memory);
    int (*host_free)(const struct gpu_api *api, void *memory);
    int (*host_register)(const struct gpu_api *api, void *memory, size_t bytes,
                         enum gpu_host_kind kind);
    int (*host_unregister)(const struct gpu_api *api, void *memory);
    int (*host_address)(const struct gpu_api *api, void *memory, gpu_address *ret_address);
    /* freed by free */
    int (*managed_alloc)(const struct gpu_api *api, size_t bytes, gpu_address *ret_address);
    int (*managed_advise)(const struct gpu_api *api, gpu_address address, size_t bytes,
                          enum gpu_advice advice, int device);
    int (*managed_prefetch)(const struct gpu_api *api, gpu_address address, size_t bytes,
                            int device, gpu_stream stream); /* device -1: to the host */

    int (*stream_new)(const struct gpu_api *api,
                      /* stream of the entered device; does not wait for the default stream */
                      gpu_stream *ret_stream);
    int (*stream_free)(const struct gpu_api *api, gpu_stream stream);
    /* the host waits until all work in the stream is done */
    int (*stream_wait)(const struct gpu_api *api, gpu_stream stream);
    int (*stream_after)(const struct gpu_api *api, gpu_stream stream, gpu_event event);
    /* never waits */
    int (*stream_done)(const struct gpu_api *api, gpu_stream stream, bool *ret_done);
    /* with a time */
    int (*event_new)(const struct gpu_api *api, gpu_event *ret_event);
    /* an event without a time delays the following work less */
    int (*event_plain_new)(const struct gpu_api *api, gpu_event *ret_event);
    int (*event_free)(const struct gpu_api *api, gpu_event event);
    int (*event_record)(const struct gpu_api *api, gpu_event event, gpu_stream stream);
    int (*event_elapsed)(const struct gpu_api *api, gpu_event from, gpu_event to, double *ret_ns);

    /* The runtime finds the kinds of memory from the addresses. */
    int (*copy)(const struct gpu_api *api, gpu_address to, gpu_address from, size_t bytes,
                gpu_stream stream);
    /* the call that blocks */
    int (*copy_now)(const struct gpu_api *api, gpu_address to, gpu_address from, size_t bytes);
    int (*copy_peer)(const struct gpu_api *api, const struct gpu_peer_end *to,
                     const struct gpu_peer_end *from, size_t bytes, gpu_stream stream);
    int (*fill)(const struct gpu_api *api, gpu_address to, uint8_t byte, size_t bytes,
                gpu_stream stream);

    /* for the entered device */
    int (*module_load)(const struct gpu_api *api, const void *image, gpu_module *ret_module);
    int (*module_unload)(const struct gpu_api *api, gpu_module module);
    int (*module_function)(const struct gpu_api *api, gpu_module module, const char *name,
                           gpu_function *ret_function);
    /* most threads of a block of the function */
    int (*function_threads)(const struct gpu_api *api, gpu_function function, int *ret_most);
    /* All kernels take one structure by value (gpu_kernels.h). */
    int (*launch)(const struct gpu_api *api, gpu_function function, unsigned grid, unsigned block,
                  gpu_stream stream, const void *args, size_t args_size);
};

/* Ends a table of gpu_cuda_new or gpu_hip_new; NULL is fine. The library stays loaded. */
void gpu_api_free(struct gpu_api *api);

/* CUDA's driver API, libcuda.so.1: opens the library without calling it. NULL, with one sentence in
 * why, when it is absent, lacks calls that every measurement needs, or memory ran out. Freed by
 * gpu_api_free. */
struct gpu_api *gpu_cuda_new(struct probe_why *why);

/* HIP, libamdhip64.so.7, .6 or .5: opens the library and sets its environment, so call it before
 * other threads start. Calls nothing of it. NULL, with one sentence in why, when it is absent,
 * lacks calls that every measurement needs, or memory ran out. Freed by gpu_api_free. */
struct gpu_api *gpu_hip_new(struct probe_why *why);

/* gpu/driver/access.c: true when a runtime needs a file below root that exists and is closed to
 * this process. Then why names the file, its owner and the remedy in one sentence. The files are
 * /dev/nvidia* for "cuda", /dev/kfd and /dev/dri/renderD* for "hip". Opens nothing: that could
 * start a driver. */
bool gpu_access_denied(const char *root, const char *runtime, struct probe_why *why);
