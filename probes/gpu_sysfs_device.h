/* What the directory of an AMD GPU's PCI device says of it: gpu_sysfs_amd.h has the fields. */
#pragma once
#include "gpu_sysfs_amd.h"

/* Nothing is known. */
void gpu_sysfs_device_forget(struct gpu_amd_device *device);

/* Adds to what is known already of the device at device->pci. */
void gpu_sysfs_device_read(const char *root, struct gpu_amd_device *device);
