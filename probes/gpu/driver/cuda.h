/* CUDA's driver API, libcuda.so.1, as a struct gpu_api. */
#pragma once
#include "common/why.h"
#include "gpu/driver/api.h"

/* Opens the library without calling it. NULL, with one sentence in why, when it is absent, lacks
 * calls that every measurement needs, or memory ran out. Freed by gpu_api_free. */
struct gpu_api *gpu_cuda_new(struct probe_why *why);
