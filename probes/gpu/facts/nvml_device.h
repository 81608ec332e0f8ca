/**
 * Facts about one device from NVIDIA's management library, in plain numbers. -1 is unknown: the
 * library, the driver or the device does not report it. Nothing here makes a context. Threads: any,
 * one for each device; the library allows it.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/facts/nvml.h"

#define GPU_NVML_SLICES_MAX 8
#define GPU_NVML_PIDS_MAX   64

struct gpu_nvml_link {
    bool is_there, is_active;
    enum nvml_remote remote; /* remote end of an active link */
    char remote_pci[16];     /* "" unknown: a switch seldom reports it */
    int64_t bytes_per_s;     /* per direction */
};

/* A slice (MIG) of the device. */
struct gpu_nvml_slice {
    char uuid[96], model[96];
    int64_t bytes;
};

struct gpu_nvml_device {
    /* it fell off the bus, or needs a reset before it answers; this may be the reason of unknown
     * values */
    bool is_lost;
    char pci[16]; /* "0000:c1:00.0" */
    char uuid[96], model[96];
    int64_t minor, bytes, used_bytes, capability; /* capability: 90 is 9.0 */
    /* the host's nearest node; the node that the device's memory is */
    int64_t numa, own_numa;
    int64_t persistence, mig; /* 1 on */
    struct gpu_nvml_slice slice[GPU_NVML_SLICES_MAX];
    int slice_count;
    int64_t ecc, ecc_pending;       /* 1 on */
    int64_t corrected, uncorrected; /* memory errors since the driver was loaded */
    int64_t corrected_ever, uncorrected_ever;
    /* remapped rows; pending and failed: 1 yes */
    int64_t rows_corrected, rows_uncorrected, rows_pending, rows_failed;
    int64_t clock_mhz, clock_max_mhz, memory_clock_mhz, memory_clock_max_mhz;
    int64_t clock_events; /* bits; see gpu_nvml_device_events */
    int64_t power_mw, power_cap_mw, power_default_mw, temperature_c;
    int64_t pcie_generation, pcie_generation_max, pcie_width, pcie_width_max;
    int64_t process_count;
    unsigned pid[GPU_NVML_PIDS_MAX]; /* ids of the first processes */
    struct gpu_nvml_link link[NVML_NVLINKS_MAX];
    int64_t nvlink_version;
    int64_t pcie_replays;
    int64_t nvlink_errors[NVML_NVLINK_ERRORS]; /* by enum nvml_nvlink_error, of all links */
    int64_t c2c_links, c2c_links_active,
        c2c_bytes_per_s; /* the rate is that of all active links together */
};

/* Reads only the conditions of measurements, of the device at that PCI address: its ECC and MIG
 * modes, clocks, power. Takes some milliseconds less than the full reading. False: the library does
 * not list it. */
bool gpu_nvml_device_conditions(const struct gpu_nvml *nvml, const char *pci,
                                struct gpu_nvml_device *ret_device);

/* Bits of clock_events in words, comma separated; "none": no reason but idleness. */
void gpu_nvml_device_events(int64_t events, char *ret_text, size_t size);

/* Reads all facts of a device; unknown ones keep -1. root: where /sys and /proc are. */
void gpu_nvml_device_read(const struct gpu_nvml *nvml, nvml_device handle, const char *root,
                          struct gpu_nvml_device *ret_device);
