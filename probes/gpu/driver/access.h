/* Device files of GPUs that this process may not open. */
#pragma once
#include <stdbool.h>

#include "common/why.h"

/* True, and one sentence in why, when a file below root that a runtime needs is there and closed to
 * us: which, to whom it belongs, and what would open it. For "cuda" /dev/nvidia*, for "hip"
 * /dev/kfd and /dev/dri/renderD*. Nothing is opened: that could start a driver. */
bool gpu_access_denied(const char *root, const char *runtime, struct probe_why *why);
