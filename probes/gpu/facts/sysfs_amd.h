/**
 * What the AMD driver says of its GPUs in sysfs: the nodes of the KFD topology, each with what the
 * PCI device behind it adds. No library is needed, and no device file is opened.
 *
 * Sources: Linux, drivers/gpu/drm/amd/amdkfd/kfd_topology.c, kfd_crat.h, kfd_process.c;
 * Documentation/gpu/amdgpu.
 */
#pragma once
#include <stdbool.h>

#include "common/why.h"
#include "gpu/facts/sysfs_device.h"

#define GPU_AMD_DEVICES_MAX 64
struct gpu_amd {
    struct gpu_amd_device *device; /* owned */
    int count;
    /* why there are none, or what of them is closed to this process; "" nothing */
    struct probe_why why;
    bool is_wrong; /* the latter */
};

/* root: "" this machine, else a folder with /sys and /dev in it. It always gives what is known. */
void gpu_sysfs_amd_read(const char *root, struct gpu_amd *ret);
void gpu_sysfs_amd_done(struct gpu_amd *amd);
