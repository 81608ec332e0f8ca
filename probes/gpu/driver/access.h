/* Device files of GPUs that this process may not open. */
#pragma once
#include <stdbool.h>

#include "common/why.h"

/* True when a runtime needs a file below root that exists and is closed to this process. Then why
 * names the file, its owner and the remedy in one sentence. The files are /dev/nvidia* for "cuda",
 * /dev/kfd and /dev/dri/renderD* for "hip". Opens nothing: that could start a driver. */
bool gpu_access_denied(const char *root, const char *runtime, struct probe_why *why);
