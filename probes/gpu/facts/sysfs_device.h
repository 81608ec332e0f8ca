/* The facts in the directory of an AMD GPU's PCI device. Unknown numbers are -1, unknown texts
 * "". */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define GPU_AMD_LINKS_MAX 64
#define GPU_AMD_PIDS_MAX  64

/* One hop, to another GPU or to the host's memory. */
struct gpu_amd_link {
    int to;              /* index of a device, -1: the host */
    int numa;            /* node of the host */
    bool is_xgmi;        /* else PCIe */
    int width;           /* links; 0 not known */
    int64_t bytes_per_s; /* of all links, per direction */
};

struct gpu_amd_device {
    int kfd_node; /* -1: KFD does not show it */
    char pci[16], uuid[32], model[96], render_node[32], hive[24];
    char partition[16], memory_partition[16]; /* "SPX", "NPS1" */
    bool is_part;                             /* one of several parts of a device */
    int64_t gpu_id, bytes, used_bytes, numa;
    /* errors of all blocks that count them, since the driver was loaded */
    int64_t corrected, uncorrected;
    int64_t xgmi_corrected, xgmi_uncorrected; /* the part of its xGMI links */
    int64_t clock_mhz, clock_max_mhz, memory_clock_mhz, memory_clock_max_mhz;
    int64_t power_mw, power_cap_mw, power_default_mw, temperature_c;
    int64_t pcie_generation, pcie_generation_max, pcie_width, pcie_width_max, pcie_replays;
    int64_t process_count;
    int64_t pid[GPU_AMD_PIDS_MAX];
    struct gpu_amd_link link[GPU_AMD_LINKS_MAX];
    int link_count;
};

/* Sets all facts to unknown. */
void gpu_sysfs_device_forget(struct gpu_amd_device *device);

/* Adds the facts of the device at device->pci to the known ones; a part gets its device's. */
void gpu_sysfs_device_read(const char *root, struct gpu_amd_device *device);
