/* HIP, libamdhip64.so.7, .6 or .5, as a struct gpu_api. */
#pragma once
#include "common/why.h"
#include "gpu/driver/api.h"

/* NULL, and one sentence in why, when the library is not there, lacks calls without which nothing
 * can be measured, or memory ran out. Nothing of it is called yet, but its environment is set:
 * before other threads. Freed by gpu_api_free. */
struct gpu_api *gpu_hip_new(struct probe_why *why);
