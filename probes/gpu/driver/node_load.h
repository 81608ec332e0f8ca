/* The kernels of gpu_kernels.cu as functions of an opened device. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "gpu/driver/node.h"

/* Loads an image into the entered device and finds its kernels; one that the image lacks stays
 * NULL. False sets why, and nothing is loaded. */
bool gpu_node_load(const struct gpu_api *api, const void *image, struct gpu_device *device,
                   struct probe_why *why);

/* The name of GPU_KERNEL_FILL is "berth_fill"; of the second after GPU_KERNEL_READ "berth_read_u4".
 */
void gpu_node_load_name(enum gpu_kernel kernel, char *ret_name, size_t size);
