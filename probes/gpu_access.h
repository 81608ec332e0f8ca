/* Device files of GPUs that this process may not open. */
#pragma once
#include <stdbool.h>

#include "gpu_api.h"
#include "probe_why.h"

/* True, and one sentence in why, when a file below root that the runtime needs is there and closed to us: which, to whom it
 * belongs, and what would open it. For "cuda" /dev/nvidia*, for "hip" /dev/kfd and /dev/dri/renderD*. Files are opened for a
 * moment. */
bool gpu_access_denied(const char *root, const struct gpu_api *api, struct probe_why *why);
