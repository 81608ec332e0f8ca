/**
 * What a run of the GPU probe is made under, besides the machine's conditions: of each GPU its ECC
 * mode, partition, power cap, IOMMU, XNACK; and its clocks and what holds them down, which are
 * known once it works. NVIDIA's are asked of its management library, AMD's read from sysfs. Of
 * several GPUs that have the same, one value; else each one's behind its address.
 */
#pragma once
#include <pthread.h>
#include <stdbool.h>

#include "common/conditions.h"
#include "gpu/driver/node.h"
#include "gpu/facts/nvml.h"

struct gpu_conditions {
    /* where /sys, /proc and /usr/lib/libnvidia-ml.so.1 are; "" this machine */
    const char *root;
    bool is_running, has_nvml;
    pthread_t thread; /* while is_running */
    struct gpu_nvml nvml;
    char driver[80];      /* NVIDIA's version, "" not known */
    struct probe_why why; /* why there is no library */
};

/* Loads NVIDIA's library, which takes as long as many cells do, in a thread beside what the caller
 * does next. */
void gpu_conditions_begin(struct gpu_conditions *conditions, const char *root);

/* Adds those that a run begins with to an open object, the machine's before them; and those that
 * are known at its end, while the GPUs still work. */
void gpu_conditions_print(struct gpu_conditions *conditions, const struct gpu_node *node,
                          struct probe_line *line);
void gpu_conditions_print_end(struct gpu_conditions *conditions, const struct gpu_node *node,
                              struct probe_line *line);

void gpu_conditions_done(struct gpu_conditions *conditions);
