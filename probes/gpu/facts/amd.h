/* The device and link records of AMD's GPUs. */
#pragma once
#include <stdbool.h>

#include "common/emit.h"
#include "gpu/facts/sysfs_amd.h"

/* Prints them as gpuN from first on. False when the reader is gone. */
bool gpu_facts_amd_print(const struct gpu_amd *amd, int first, struct probe_out *out);
