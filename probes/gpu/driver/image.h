/* The kernels inside this program: compiled for some devices when the compilers were there at build
 * time, and source text for all others. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "gpu/driver/api.h"

/* Describes the devices with compiled kernels in one line: "kernels built in for CUDA: sm_80 sm_90
 * and later; for HIP: none (there was no hipcc)". */
const char *gpu_image_included(void);

/* Input of module_load and its size, which may be NULL. NULL and 0 when none was built. It may
 * still not fit the device. */
const void *gpu_image_built(const struct gpu_api *api, size_t *ret_size);

/* The source, and the header that it includes as "gpu_kernels.h". */
const char *gpu_image_source(void);
const char *gpu_image_header(void);
