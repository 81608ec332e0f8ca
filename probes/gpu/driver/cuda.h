/* CUDA's driver API, libcuda.so.1, as a struct gpu_api. */
#pragma once
#include "common/why.h"
#include "gpu/driver/api.h"

/* NULL, and one sentence in why, when the library is not there, lacks calls without which nothing
 * can be measured, or memory ran out. Nothing of it is called yet. Freed by gpu_api_free. */
struct gpu_api *gpu_cuda_new(struct probe_why *why);
