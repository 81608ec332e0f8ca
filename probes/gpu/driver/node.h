/**
 * The devices of this node, opened: a context, kernels and peer access for each. Also the host's
 * NUMA nodes that have memory. Devices are in the order of their PCI addresses, as berth numbers
 * gpus; api_device is the runtime's own number.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/why.h"
#include "gpu/driver/api.h"

#define GPU_DEVICES_MAX 64
#define GPU_NUMAS_MAX   64
/* streams kept open on each device: with eight devices, one to each of the others */
#define GPU_STREAMS 8

/* Conversions between places and indices of a node. Devices have their index as place, NUMA nodes a
 * number from their index in numa. */
#define GPU_PLACE_NONE        (-1)
#define GPU_PLACE_NUMA(index) (-2 - (index))

enum gpu_kernel {
    GPU_KERNEL_GATE,
    GPU_KERNEL_READ, /* unroll 1; gpu_node_stream_kernel returns the kernels of other unrolls */
    GPU_KERNEL_WRITE = GPU_KERNEL_READ + 6,
    GPU_KERNEL_COPY = GPU_KERNEL_WRITE + 6,
    GPU_KERNEL_FILL = GPU_KERNEL_COPY + 6,
    GPU_KERNEL_CHECK,
    GPU_KERNEL_CHASE,
    GPU_KERNEL_CHASE_BUILD,
    GPU_KERNEL_PINGPONG,
    GPU_KERNEL_BS1,
    GPU_KERNEL_SUM = GPU_KERNEL_BS1 + 7,
    GPU_KERNEL_MESH,
    GPU_KERNEL_PRODUCT,
    GPU_KERNEL_STRIDE,
    GPU_KERNEL_COUNT
};

/* Launch shape of a streaming kernel: found by tuning, once per model and driver. */
struct gpu_shape {
    unsigned block, grid; /* grid 0: as many blocks as give each thread one step */
    unsigned unroll;      /* 1, 2, 4, 8, 12, 16 */
};

/* Rates of a tuned shape in bytes/s: the median, lowest and highest of its repetitions when it was
 * tuned, and the median of the fastest other shape. 0 unknown. */
struct gpu_tuned {
    double rate, low, high, next;
};

#define GPU_TUNE_TARGETS 3 /* memories: its own, a peer's, the host's */
#define GPU_TUNE_WAYS    4 /* uses of each at most */

#define GPU_TUNE_ENDS_SIZE 40

struct gpu_device {
    int api_device;
    gpu_context context;
    char name[16]; /* the PCI address: its name in records */
    char model[64], uuid[64];
    /* values that the runtime does not report are 0, and -1 for NUMA nodes */
    int attribute[GPU_ATTRIBUTE_COUNT];
    uint64_t bytes;
    gpu_module module;
    gpu_function kernel[GPU_KERNEL_COUNT]; /* NULL: not there */
    int threads[GPU_KERNEL_COUNT];         /* most threads of a block of each; 0: unknown */
    gpu_stream stream[GPU_STREAMS];
    bool access[GPU_DEVICES_MAX]; /* this device reaches that one's memory */
    bool usable;
    /* reason when not usable; then only name is sure to be set */
    struct probe_why why;
    struct gpu_shape read, write, copy; /* for its own memory; see gpu/timing/launch_shapes.h */
    /* the same in a peer's memory, with copying from there into its own, and in the host's */
    struct gpu_shape peer[4], host[3];
    /* targets with tuned shapes, and those of them that hold: bits of enum gpu_tune_target; the
     * rates of all uses, the seconds since the epoch at tuning, 0 unknown, and the device and
     * memory that were timed, "0000:c1:00.0>numa0" */
    unsigned known, tuned;
    struct gpu_tuned rate[GPU_TUNE_TARGETS][GPU_TUNE_WAYS];
    int64_t tuned_at_s[GPU_TUNE_TARGETS];
    char tuned_ends[GPU_TUNE_TARGETS][GPU_TUNE_ENDS_SIZE];
    int64_t power_cap_w, clock_max_mhz; /* limits in force; below 0 unknown */
};

struct gpu_node {
    const struct gpu_api *api;
    struct gpu_device device[GPU_DEVICES_MAX];
    int device_count;
    struct gpu_left_out {
        char name[16], uuid[64];
    } left_out[GPU_DEVICES_MAX]; /* the devices of without */
    int left_out_count;
    /* the operating system's numbers, ascending; with host memory, and allowed */
    int numa[GPU_NUMAS_MAX];
    int numa_count;
    struct probe_why kernels_why; /* reason that there are no kernels; "" there are */
    /* device file closed to this process, so that there may be more GPUs than these; "" none */
    struct probe_why closed;
    /* the library that compiled kernels because no built-in ones fit a device; NULL: not needed */
    const char *compiler;
    char version[32]; /* of the kernel's driver: letters, digits, '.' and '-'; "" unknown */
    int64_t driver_ns, open_ns; /* times to start the driver and to open all devices */
};

/* Starts the runtime and opens the devices, each by a thread of its own. selection names them by
 * PCI address or UUID, NULL-terminated; NULL is all. without is a list of the same form: its
 * devices are not touched. A device that cannot be opened, or is selected by PCI address and not
 * there, is kept with usable false. Files of the system are read below root, "" but in tests. False
 * when the runtime does not start, no device is left, or a selected name is no possible device
 * name. why then also names a missing permission, if there is one. */
bool gpu_node_open(const struct gpu_api *api, const char *root, const char *const *selection,
                   const char *const *without, struct gpu_node *ret_node, struct probe_why *why);

/* Frees all memory on the devices and closes the contexts. Never call it after a device was lost:
 * end the process then. */
void gpu_node_close(struct gpu_node *node);

/* The kernel of GPU_KERNEL_READ, _WRITE or _COPY with that unroll; NULL when there is none. */
gpu_function gpu_node_stream_kernel(const struct gpu_device *device, enum gpu_kernel first,
                                    unsigned unroll);

/* Most threads that a block of that kernel may have, by its registers. Returns 0 when the driver
 * does not report it, -1 without such a kernel. */
int gpu_node_stream_threads(const struct gpu_device *device, enum gpu_kernel first,
                            unsigned unroll);

/* True when the driver can launch the kernel of the shape's unroll, counted from first, with blocks
 * of that many threads. True also where the driver does not report it. */
bool gpu_node_stream_fits(const struct gpu_device *device, enum gpu_kernel first,
                          const struct gpu_shape *shape);

/* True when text names the device: its PCI address in any runtime's form, or its UUID. */
bool gpu_node_is(const char *pci, const char *uuid, const char *text);

/* Index in numa of the NUMA node next to the device; 0 when unknown. */
int gpu_node_near(const struct gpu_node *node, int device);

/* True for code 0 of a call of the runtime. Else false, and err gets the kind of failure, the
 * device, the attempted call, and the runtime's message. err may be NULL. */
bool gpu_node_check(const struct gpu_node *node, int device, int code, const char *what,
                    struct gpu_err *err);

/* Makes the device current for the calling thread. */
bool gpu_node_enter(const struct gpu_node *node, int device, struct gpu_err *err);

/* gpu/driver/numa.c: numbers of the host's NUMA nodes that have memory and that this process may
 * use. Ascending, at most max, below root ("" but in tests), the kernel's own numbers. A kernel
 * without NUMA has node 0. Returns at least one. */
int gpu_numa_list(const char *root, int *ret_numbers, int max);

/* CPUs of a NUMA node that this process may run on, one for each core, ascending, at most max.
 * Returns their number. 0 where the kernel does not show them. */
int gpu_numa_cores(const char *root, int numa, int *ret_cpus, int max);
