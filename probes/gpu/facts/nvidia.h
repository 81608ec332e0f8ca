/* The device and link records of NVIDIA's GPUs. */
#pragma once
#include <stdbool.h>

#include "common/emit.h"
#include "common/why.h"
#include "gpu/facts/nvml_device.h"

#define GPU_FACTS_NVIDIA_MAX 64

struct gpu_facts_nvidia {
    struct gpu_nvml_device *device; /* owned; in the order of the library, by PCI address */
    int count;
    char driver[80], cuda[16]; /* versions; "" not known */
    struct probe_why why;      /* reason that there are none, or not all; "" no fault */
    /* ... and a person must repair it: a file that is closed, a GPU that does not answer */
    bool is_wrong;
};

/* Reads all devices from the library at once, each by a thread of its own. root: "" this machine;
 * else a folder with /sys, /proc, /dev and /usr/lib/libnvidia-ml.so.1 in it. */
void gpu_facts_nvidia_read(const char *root, struct gpu_facts_nvidia *ret);
void gpu_facts_nvidia_done(struct gpu_facts_nvidia *nvidia);

/* Prints them as gpuN from first on: the devices, then their slices. False when the reader is gone.
 */
bool gpu_facts_nvidia_print(const struct gpu_facts_nvidia *nvidia, int first,
                            struct probe_out *out);
/* number of gpuN names, slices included */
int gpu_facts_nvidia_names(const struct gpu_facts_nvidia *nvidia);
