/**
 * AMD GPUs in sysfs: the nodes of the KFD topology, each with the facts of its PCI device. Needs no
 * library and opens no device file.
 *
 * Sources: Linux, drivers/gpu/drm/amd/amdkfd/kfd_topology.c, kfd_crat.h, kfd_process.c;
 * Documentation/gpu/amdgpu.
 */
#pragma once
#include <stdbool.h>

#include "common/emit.h"
#include "common/why.h"
#include "gpu/facts/sysfs_device.h"

#define GPU_AMD_DEVICES_MAX 64
struct gpu_amd {
    struct gpu_amd_device *device; /* owned */
    int count;
    /* reason for an empty list, or the devices closed to this process; "" none */
    struct probe_why why;
    bool is_wrong; /* the latter */
};

/* Reads the GPUs; unknown facts stay unknown. root: "" this machine, else a folder with /sys and
 * /dev in it. */
void gpu_sysfs_amd_read(const char *root, struct gpu_amd *ret);
void gpu_sysfs_amd_done(struct gpu_amd *amd);

/* gpu/facts/amd.c: prints the device and link records as gpuN from first on. False when the reader
 * is gone. */
bool gpu_facts_amd_print(const struct gpu_amd *amd, int first, struct probe_out *out);
