/* Compiles the kernels at run time, by nvrtc or hiprtc, for a device that no built-in image fits.
 * Takes a second or two. */
#pragma once
#include <stdbool.h>

#include "common/why.h"
#include "gpu/driver/api.h"

/* Compiles for the entered device. *ret_image is the input of module_load, freed by the caller;
 * *ret_library is the compiler's, "libnvrtc.so.13". False sets why: no compiler on this machine, or
 * the first line of its message. */
bool gpu_compile(const struct gpu_api *api, int device, void **ret_image, const char **ret_library,
                 struct probe_why *why);
