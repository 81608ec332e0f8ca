/**
 * NVIDIA's management library, looked up at run time: a table of the calls that berth makes. A call
 * that the library lacks is NULL. It makes no context on a GPU. Structures and constants are
 * declared here. Only calls whose structures never changed under one name are used.
 *
 * Source: NVIDIA's NVML API reference (nvml.h, versions 10 to 13).
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/why.h"

typedef struct nvml_device *nvml_device; /* a device or a slice of one (MIG) */

enum nvml_code {
    NVML_OK = 0,
    NVML_NO_PERMISSION = 4,
    NVML_NO_DRIVER = 9,
    NVML_TOO_SMALL = 7,
    NVML_LOST = 15,
    NVML_RESET_REQUIRED = 16,
    NVML_CGROUP = 17 /* the device's file is closed to this process */
};

/* nvmlPciInfo_t. */
struct nvml_pci {
    char short_address[16];
    unsigned domain, bus, device, id, subsystem;
    char address[32]; /* "00000000:C1:00.0" */
};

/* nvmlMemory_t, in bytes. */
struct nvml_memory {
    unsigned long long total, free, used;
};

/* nvmlMemory_v2_t, in bytes: the driver's own memory counts apart from the used memory. */
struct nvml_memory_apart {
    unsigned version; /* NVML_MEMORY_APART */
    unsigned long long total, reserved, free, used;
};
#define NVML_MEMORY_APART ((unsigned)sizeof(struct nvml_memory_apart) | 2u << 24)

/* nvmlProcessInfo_v2_t, which the third version of the calls has kept. */
struct nvml_process {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
};

/* nvmlFieldValue_t. */
struct nvml_field {
    unsigned field, scope;
    long long timestamp, latency_us;
    unsigned type; /* type of value: enum nvml_type */
    int code;
    union {
        double real;
        int32_t int32;
        uint32_t uint32;
        uint64_t uint64;
        int64_t int64;
        uint16_t uint16;
    } value;
};
enum nvml_type {
    NVML_DOUBLE,
    NVML_UINT,
    NVML_ULONG,
    NVML_ULONGLONG,
    NVML_SLONGLONG,
    NVML_SINT,
    NVML_USHORT
};

enum nvml_field_id {
    NVML_NVLINK_SPEED_COMMON = 90, /* MB/s of an active link, per direction */
    NVML_NVLINK_COUNT = 91,
    NVML_NVLINK_SPEED = 164, /* speed of the link in scope */
    NVML_C2C_COUNT = 170,
    NVML_C2C_STATUS = 171, /* status of the link in scope: 1 active */
    NVML_C2C_SPEED = 172   /* speed of the link in scope, MB/s */
};

#define NVML_NVLINKS_MAX 36

/* nvmlIntNvLinkDeviceType_t */
enum nvml_remote { NVML_REMOTE_GPU, NVML_REMOTE_CPU, NVML_REMOTE_SWITCH };

/* nvmlNvLinkErrorCounter_t */
enum nvml_nvlink_error { NVML_NVLINK_REPLAYS, NVML_NVLINK_RECOVERIES, NVML_NVLINK_CRC_FLITS };
#define NVML_NVLINK_ERRORS 3

/* X(member, name in the library, parameters). */
#define NVML_CALLS(X)                                                                              \
    X(init_flags, nvmlInitWithFlags, (unsigned flags))                                             \
    X(init, nvmlInit_v2, (void))                                                                   \
    X(shutdown, nvmlShutdown, (void))                                                              \
    X(driver_version, nvmlSystemGetDriverVersion, (char *text, unsigned size))                     \
    X(cuda_version, nvmlSystemGetCudaDriverVersion_v2, (int *ret_version))                         \
    X(count, nvmlDeviceGetCount_v2, (unsigned *ret_count))                                         \
    X(by_index, nvmlDeviceGetHandleByIndex_v2, (unsigned index, nvml_device *ret_device))          \
    X(name, nvmlDeviceGetName, (nvml_device device, char *text, unsigned size))                    \
    X(uuid, nvmlDeviceGetUUID, (nvml_device device, char *text, unsigned size))                    \
    X(minor, nvmlDeviceGetMinorNumber, (nvml_device device, unsigned *ret_minor))                  \
    X(pci, nvmlDeviceGetPciInfo_v3, (nvml_device device, struct nvml_pci * ret_pci))               \
    X(memory, nvmlDeviceGetMemoryInfo, (nvml_device device, struct nvml_memory * ret_memory))      \
    X(memory_apart, nvmlDeviceGetMemoryInfo_v2,                                                    \
      (nvml_device device, struct nvml_memory_apart * memory))                                     \
    X(capability, nvmlDeviceGetCudaComputeCapability,                                              \
      (nvml_device device, int *ret_major, int *ret_minor))                                        \
    X(persistence, nvmlDeviceGetPersistenceMode, (nvml_device device, unsigned *ret_mode))         \
    X(memory_affinity, nvmlDeviceGetMemoryAffinity,                                                \
      (nvml_device device, unsigned words, unsigned long *ret_set, unsigned scope))                \
    X(numa, nvmlDeviceGetNumaNodeId, (nvml_device device, unsigned *ret_node))                     \
    X(mig, nvmlDeviceGetMigMode,                                                                   \
      (nvml_device device, unsigned *ret_current, unsigned *ret_pending))                          \
    X(mig_count, nvmlDeviceGetMaxMigDeviceCount, (nvml_device device, unsigned *ret_count))        \
    X(mig_device, nvmlDeviceGetMigDeviceHandleByIndex,                                             \
      (nvml_device device, unsigned index, nvml_device *ret_slice))                                \
    X(ecc_mode, nvmlDeviceGetEccMode,                                                              \
      (nvml_device device, unsigned *ret_current, unsigned *ret_pending))                          \
    X(ecc_errors, nvmlDeviceGetTotalEccErrors,                                                     \
      (nvml_device device, unsigned uncorrected, unsigned aggregate,                               \
       unsigned long long *ret_count))                                                             \
    X(remapped_rows, nvmlDeviceGetRemappedRows,                                                    \
      (nvml_device device, unsigned *ret_corrected, unsigned *ret_uncorrected,                     \
       unsigned *ret_pending, unsigned *ret_failed))                                               \
    X(clock, nvmlDeviceGetClockInfo, (nvml_device device, unsigned type, unsigned *ret_mhz))       \
    X(clock_max, nvmlDeviceGetMaxClockInfo,                                                        \
      (nvml_device device, unsigned type, unsigned *ret_mhz))                                      \
    X(clock_events, nvmlDeviceGetCurrentClocksEventReasons,                                        \
      (nvml_device device, unsigned long long *ret_reasons))                                       \
    X(clock_throttle, nvmlDeviceGetCurrentClocksThrottleReasons,                                   \
      (nvml_device device, unsigned long long *ret_reasons))                                       \
    X(power, nvmlDeviceGetPowerUsage, (nvml_device device, unsigned *ret_milliwatts))              \
    X(power_cap, nvmlDeviceGetEnforcedPowerLimit, (nvml_device device, unsigned *ret_milliwatts))  \
    X(power_default, nvmlDeviceGetPowerManagementDefaultLimit,                                     \
      (nvml_device device, unsigned *ret_milliwatts))                                              \
    X(temperature, nvmlDeviceGetTemperature,                                                       \
      (nvml_device device, unsigned sensor, unsigned *ret_celsius))                                \
    X(pcie_generation, nvmlDeviceGetCurrPcieLinkGeneration,                                        \
      (nvml_device device, unsigned *ret_generation))                                              \
    X(pcie_generation_max, nvmlDeviceGetMaxPcieLinkGeneration,                                     \
      (nvml_device device, unsigned *ret_generation))                                              \
    X(pcie_width, nvmlDeviceGetCurrPcieLinkWidth, (nvml_device device, unsigned *ret_width))       \
    X(pcie_width_max, nvmlDeviceGetMaxPcieLinkWidth, (nvml_device device, unsigned *ret_width))    \
    X(pcie_replays, nvmlDeviceGetPcieReplayCounter, (nvml_device device, unsigned *ret_count))     \
    X(nvlink_errors, nvmlDeviceGetNvLinkErrorCounter,                                              \
      (nvml_device device, unsigned link, unsigned counter, unsigned long long *ret_count))        \
    X(compute_processes, nvmlDeviceGetComputeRunningProcesses_v3,                                  \
      (nvml_device device, unsigned *count, struct nvml_process *ret_processes))                   \
    X(graphics_processes, nvmlDeviceGetGraphicsRunningProcesses_v3,                                \
      (nvml_device device, unsigned *count, struct nvml_process *ret_processes))                   \
    X(nvlink_state, nvmlDeviceGetNvLinkState,                                                      \
      (nvml_device device, unsigned link, unsigned *ret_active))                                   \
    X(nvlink_version, nvmlDeviceGetNvLinkVersion,                                                  \
      (nvml_device device, unsigned link, unsigned *ret_version))                                  \
    X(nvlink_remote_type, nvmlDeviceGetNvLinkRemoteDeviceType,                                     \
      (nvml_device device, unsigned link, unsigned *ret_type))                                     \
    X(nvlink_remote_pci, nvmlDeviceGetNvLinkRemotePciInfo_v2,                                      \
      (nvml_device device, unsigned link, struct nvml_pci *ret_pci))                               \
    X(c2c_mode, nvmlDeviceGetC2cModeInfoV, (nvml_device device, unsigned *ret_enabled))            \
    X(fields, nvmlDeviceGetFieldValues, (nvml_device device, int count, struct nvml_field *fields))

struct gpu_nvml {
    void *library;
    const char *(*text)(int code); /* never NULL */
/* NOLINTNEXTLINE(bugprone-macro-parentheses) */
#define X(member, name, parameters) int(*member) parameters;
    NVML_CALLS(X)
#undef X
};

/* Loads the library and starts it. path NULL: the one that the system finds. False: it is not
 * there, lacks a required call, or does not start. code is then its answer, NVML_OK when it gave
 * none. */
bool gpu_nvml_open(const char *path, struct gpu_nvml *ret_nvml, int *ret_code,
                   struct probe_why *why);
void gpu_nvml_close(struct gpu_nvml *nvml);

/* The field as a whole number; -1 when it was not given. */
int64_t gpu_nvml_field(const struct nvml_field *field);
