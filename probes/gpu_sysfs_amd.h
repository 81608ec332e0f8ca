/**
 * What the AMD driver says of its GPUs in sysfs: the nodes of the KFD topology, each with what the PCI device behind it adds. No library is needed, and
 * no device file is opened. Numbers are -1 where they are not known.
 *
 * Sources: Linux, drivers/gpu/drm/amd/amdkfd/kfd_topology.c, kfd_crat.h, kfd_process.c; Documentation/gpu/amdgpu.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "probe_why.h"

#define GPU_AMD_DEVICES_MAX 64
#define GPU_AMD_LINKS_MAX   64
#define GPU_AMD_PIDS_MAX    64

/* One hop, to another GPU or to the host's memory. */
struct gpu_amd_link {
    int to;              /* index of a device, -1: the host */
    int numa;            /* of the host */
    bool is_xgmi;        /* else PCIe */
    int width;           /* links; 0 not known */
    int64_t bytes_per_s; /* of all of them, each way */
};

struct gpu_amd_device {
    int kfd_node;                   /* -1: KFD does not show it */
    char pci[16], uuid[32], model[96], render_node[32], hive[24];
    char partition[16], memory_partition[16]; /* "SPX", "NPS1" */
    bool is_part;                   /* one of several of a device */
    int64_t gpu_id, bytes, used_bytes, numa;
    int64_t corrected, uncorrected; /* errors of all blocks that count them, since the driver was loaded */
    int64_t clock_mhz, clock_max_mhz, memory_clock_mhz, memory_clock_max_mhz;
    int64_t power_mw, power_cap_mw, power_default_mw, temperature_c;
    int64_t pcie_generation, pcie_generation_max, pcie_width, pcie_width_max;
    int64_t process_count;
    int64_t pid[GPU_AMD_PIDS_MAX];
    struct gpu_amd_link link[GPU_AMD_LINKS_MAX];
    int link_count;
};

struct gpu_amd {
    struct gpu_amd_device *device; /* owned */
    int count;
    struct probe_why why; /* why there are none, or what of them is closed to this process; "" nothing */
};

/* root: "" this machine, else a folder with /sys and /dev in it. It always gives what is known. */
void gpu_sysfs_amd_read(const char *root, struct gpu_amd *ret);
void gpu_sysfs_amd_done(struct gpu_amd *amd);
