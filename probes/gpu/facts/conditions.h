/**
 * The conditions of a run of the GPU probe, besides the machine's. Each GPU has its ECC mode,
 * partition, power cap, IOMMU and XNACK. Its clocks, and the reasons that hold them down, are known
 * once it works. Sources: NVIDIA's management library, sysfs for AMD. Several GPUs with the same
 * value give one value; else each one's stands behind its address.
 */
#pragma once
#include <pthread.h>
#include <stdbool.h>

#include "common/conditions.h"
#include "gpu/driver/node.h"
#include "gpu/facts/nvml.h"

struct gpu_conditions {
    /* folder of /sys, /proc and /usr/lib/libnvidia-ml.so.1; "" this machine */
    const char *root;
    bool is_running, has_nvml;
    pthread_t thread; /* while is_running */
    struct gpu_nvml nvml;
    char driver[80];      /* NVIDIA's version, "" not known */
    struct probe_why why; /* reason that there is no library */
};

/* Loads NVIDIA's library in a thread beside the caller. Loading takes as long as many cells do. */
void gpu_conditions_begin(struct gpu_conditions *conditions, const char *root);

/* Adds the conditions at the run's begin to an open object, the machine's first. The second
 * function adds the conditions at its end, while the GPUs still work. */
void gpu_conditions_print(struct gpu_conditions *conditions, const struct gpu_node *node,
                          struct probe_line *line);
void gpu_conditions_print_end(struct gpu_conditions *conditions, const struct gpu_node *node,
                              struct probe_line *line);

/* Sets the limits of the devices' clocks and power, and the version of the kernel's driver; unknown
 * ones -1 and "". */
void gpu_conditions_limits(struct gpu_conditions *conditions, struct gpu_node *node);

/* What a GPU is at this moment; -1 and "" are unknown. */
struct gpu_conditions_now {
    int64_t clock_mhz, power_mw, temperature_c;
    char throttle[96];
};

/* Reads it of each device of the node, while they work. From any thread, one at a time. */
void gpu_conditions_read_now(struct gpu_conditions *conditions, const struct gpu_node *node,
                             struct gpu_conditions_now *ret_now);

void gpu_conditions_done(struct gpu_conditions *conditions);
