/* HIP, libamdhip64.so.7, .6 or .5, as a struct gpu_api. */
#pragma once
#include "common/why.h"
#include "gpu/driver/api.h"

/* Opens the library and sets its environment, so call it before other threads start. Calls nothing
 * of it. NULL, with one sentence in why, when it is absent, lacks calls that every measurement
 * needs, or memory ran out. Freed by gpu_api_free. */
struct gpu_api *gpu_hip_new(struct probe_why *why);
