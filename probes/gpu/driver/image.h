/* The kernels inside this program: compiled for some devices when the compilers were there at build
 * time, and source text for all others, compiled at run time. Loads them into a device. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "common/why.h"
#include "gpu/driver/api.h"
#include "gpu/driver/node.h"

/* Describes the devices with compiled kernels in one line: "kernels built in for CUDA: sm_80 sm_90
 * and later; for HIP: none (there was no hipcc)". */
const char *gpu_image_included(void);

/* Input of module_load and its size, which may be NULL. NULL and 0 when none was built. It may
 * still not fit the device. */
const void *gpu_image_built(const struct gpu_api *api, size_t *ret_size);

/* The source, and the header that it includes as "gpu_kernels.h". */
const char *gpu_image_source(void);
const char *gpu_image_header(void);

/* gpu/driver/compile.c: compiles for the entered device, by nvrtc or hiprtc, in a second or two.
 * *ret_image is the input of module_load, freed by the caller; *ret_library is the compiler's,
 * "libnvrtc.so.13". False sets why: no compiler on this machine, or the first line of its message.
 */
bool gpu_compile(const struct gpu_api *api, int device, void **ret_image, const char **ret_library,
                 struct probe_why *why);

/* gpu/driver/node_load.c: loads an image into the entered device and finds its kernels; one that
 * the image lacks stays NULL. False sets why, and nothing is loaded. */
bool gpu_node_load(const struct gpu_api *api, const void *image, struct gpu_device *device,
                   struct probe_why *why);

/* The name of GPU_KERNEL_FILL is "berth_fill"; of the second after GPU_KERNEL_READ "berth_read_u4".
 */
void gpu_node_load_name(enum gpu_kernel kernel, char *ret_name, size_t size);
