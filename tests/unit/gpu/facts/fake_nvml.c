/* A libnvidia-ml.so.1 with canned answers, for test_facts. The environment selects the machine
 * (FAKE_NVML_NODE: h200, gh200, none) and the failing calls (FAKE_NVML: "nvmlDeviceGetUUID=3
 * nvmlDeviceGetName@2=15", the call, perhaps a device, the code). Built with FAKE_OLD it lacks the
 * latest functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/facts/nvml.h"

#define EXPORT __attribute__((visibility("default")))

#define NOT_SUPPORTED    3
#define INVALID_ARGUMENT 2
#define NOT_FOUND        6
#define GPUS             4
#define MIG_DEVICE       3 /* of the h200 machine: it is cut into two */
#define SLICES           2

struct nvml_device {
    int gpu, slice; /* slice -1: the whole */
};

#define NVML_CALLS_DECLARED(member, name, parameters) EXPORT int name parameters;
NVML_CALLS(NVML_CALLS_DECLARED)
EXPORT const char *nvmlErrorString(int code);

static bool is_node(const char *name)
{
    const char *node = getenv("FAKE_NVML_NODE");
    return strcmp(node != NULL ? node : "h200", name) == 0;
}

/* The code that the environment wants of this call, NVML_OK else. */
static int wanted(const char *call, nvml_device device)
{
    const char *faults = getenv("FAKE_NVML");
    size_t length = strlen(call);
    for (const char *at = faults; at != NULL && (at = strstr(at, call)) != NULL; at += length) {
        if ((at != faults && at[-1] != ' ') || (at[length] != '=' && at[length] != '@'))
            continue;
        char *end = (char *)at + length;
        long gpu = *end == '@' ? strtol(end + 1, &end, 10) : -1;
        if (gpu < 0 || (device != NULL && device->gpu == gpu))
            return (int)strtol(end + 1, NULL, 10);
    }
    return NVML_OK;
}

#define BEGIN(device)                                                                              \
    do {                                                                                           \
        int fault = wanted(__func__, (device));                                                    \
        if (fault != NVML_OK)                                                                      \
            return fault;                                                                          \
    } while (0)

static int give(unsigned *ret, unsigned value)
{
    *ret = value;
    return NVML_OK;
}

static nvml_device device_of(int gpu, int slice)
{
    static const struct nvml_device devices[GPUS][SLICES + 1] = {{{0, -1}, {0, 0}, {0, 1}},
                                                                 {{1, -1}, {1, 0}, {1, 1}},
                                                                 {{2, -1}, {2, 0}, {2, 1}},
                                                                 {{3, -1}, {3, 0}, {3, 1}}};
    return (nvml_device)&devices[gpu][slice + 1];
}

const char *nvmlErrorString(int code)
{
    return code == NVML_LOST            ? "GPU is lost"
           : code == NVML_NO_PERMISSION ? "Insufficient Permissions"
                                        : "Unknown Error";
}

int nvmlInitWithFlags(unsigned flags)
{
    (void)flags;
    BEGIN(NULL);
    return NVML_OK;
}

int nvmlInit_v2(void)
{
    BEGIN(NULL);
    return NVML_OK;
}

int nvmlShutdown(void) { return NVML_OK; }

int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
    BEGIN(NULL);
    snprintf(text, size, "580.95.05");
    return NVML_OK;
}

int nvmlSystemGetCudaDriverVersion_v2(int *ret_version)
{
    BEGIN(NULL);
    *ret_version = 13020;
    return NVML_OK;
}

int nvmlDeviceGetCount_v2(unsigned *ret_count)
{
    BEGIN(NULL);
    return give(ret_count, is_node("none") ? 0 : GPUS);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device *ret_device)
{
    nvml_device device = device_of((int)(index % GPUS), -1);
    BEGIN(device);
    *ret_device = device;
    return NVML_OK;
}

int nvmlDeviceGetName(nvml_device device, char *text, unsigned size)
{
    BEGIN(device);
    snprintf(text, size, "%s%s", is_node("gh200") ? "NVIDIA GH200 120GB" : "NVIDIA H200",
             device->slice >= 0 ? " MIG 3g.71gb" : "");
    return NVML_OK;
}

int nvmlDeviceGetUUID(nvml_device device, char *text, unsigned size)
{
    BEGIN(device);
    snprintf(text, size, "%s-00000000-0000-0000-0000-0000000000%d%d",
             device->slice >= 0 ? "MIG" : "GPU", device->gpu, device->slice + 1);
    return NVML_OK;
}

int nvmlDeviceGetMinorNumber(nvml_device device, unsigned *ret_minor)
{
    BEGIN(device);
    return give(ret_minor, (unsigned)device->gpu);
}

static void put_pci(int gpu, struct nvml_pci *ret_pci)
{
    *ret_pci = (struct nvml_pci){.bus = 0x10 + (unsigned)gpu};
    snprintf(ret_pci->address, sizeof ret_pci->address, "00000000:%02X:00.0", ret_pci->bus);
}

int nvmlDeviceGetPciInfo_v3(nvml_device device, struct nvml_pci *ret_pci)
{
    BEGIN(device);
    put_pci(device->gpu, ret_pci);
    return NVML_OK;
}

int nvmlDeviceGetMemoryInfo(nvml_device device, struct nvml_memory *ret_memory)
{
    BEGIN(device);
    unsigned long long total = device->slice >= 0 ? 71000000000ull : 150754820096ull;
    *ret_memory = (struct nvml_memory){total, total - 600000000, 600000000};
    return NVML_OK;
}

#ifndef FAKE_OLD
int nvmlDeviceGetMemoryInfo_v2(nvml_device device, struct nvml_memory_apart *memory)
{
    BEGIN(device);
    /* as the library's header makes it for its structure */
    if (memory->version != (40u | 2u << 24))
        return NOT_SUPPORTED;
    unsigned long long total = device->slice >= 0 ? 71000000000ull : 150754820096ull;
    *memory = (struct nvml_memory_apart){memory->version, total, 600000000,
                                         total - 600000000 - 17000000ull * (unsigned)device->gpu,
                                         17000000ull * (unsigned)device->gpu};
    return NVML_OK;
}
#endif

int nvmlDeviceGetCudaComputeCapability(nvml_device device, int *ret_major, int *ret_minor)
{
    BEGIN(device);
    *ret_major = 9;
    *ret_minor = 0;
    return NVML_OK;
}

int nvmlDeviceGetPersistenceMode(nvml_device device, unsigned *ret_mode)
{
    BEGIN(device);
    return give(ret_mode, 1);
}

int nvmlDeviceGetMemoryAffinity(nvml_device device, unsigned words, unsigned long *ret_set,
                                unsigned scope)
{
    (void)scope;
    BEGIN(device);
    memset(ret_set, 0, words * sizeof *ret_set);
    ret_set[0] = is_node("gh200") ? 1ul << device->gpu : device->gpu < 2 ? 1 : 2;
    return NVML_OK;
}

int nvmlDeviceGetMigMode(nvml_device device, unsigned *ret_current, unsigned *ret_pending)
{
    BEGIN(device);
    *ret_current = *ret_pending = is_node("h200") && device->gpu == MIG_DEVICE;
    return NVML_OK;
}

int nvmlDeviceGetMaxMigDeviceCount(nvml_device device, unsigned *ret_count)
{
    BEGIN(device);
    return give(ret_count, 7);
}

int nvmlDeviceGetMigDeviceHandleByIndex(nvml_device device, unsigned index, nvml_device *ret_slice)
{
    BEGIN(device);
    if (index % 2 == 0 || index / 2 >= SLICES) /* places 1 and 3 are used */
        return NOT_FOUND;
    *ret_slice = device_of(device->gpu, (int)index / 2);
    return NVML_OK;
}

int nvmlDeviceGetEccMode(nvml_device device, unsigned *ret_current, unsigned *ret_pending)
{
    BEGIN(device);
    *ret_current = 1;
    *ret_pending = device->gpu != 1;
    return NVML_OK;
}

int nvmlDeviceGetTotalEccErrors(nvml_device device, unsigned uncorrected, unsigned aggregate,
                                unsigned long long *ret_count)
{
    BEGIN(device);
    *ret_count = device->gpu == 2 ? 10 * aggregate + uncorrected : 0;
    return NVML_OK;
}

int nvmlDeviceGetClockInfo(nvml_device device, unsigned type, unsigned *ret_mhz)
{
    BEGIN(device);
    return give(ret_mhz, type == 1 ? 345 : 3201);
}

int nvmlDeviceGetMaxClockInfo(nvml_device device, unsigned type, unsigned *ret_mhz)
{
    BEGIN(device);
    return give(ret_mhz, type == 1 ? 1980 : 3201);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device device, unsigned long long *ret_reasons)
{
    BEGIN(device);
    *ret_reasons = device->gpu == 2 ? 0x44 : 1;
    return NVML_OK;
}

int nvmlDeviceGetPowerUsage(nvml_device device, unsigned *ret_milliwatts)
{
    BEGIN(device);
    return give(ret_milliwatts, 76499);
}

int nvmlDeviceGetEnforcedPowerLimit(nvml_device device, unsigned *ret_milliwatts)
{
    BEGIN(device);
    return give(ret_milliwatts, 600000);
}

int nvmlDeviceGetPowerManagementDefaultLimit(nvml_device device, unsigned *ret_milliwatts)
{
    BEGIN(device);
    return give(ret_milliwatts, 700000);
}

int nvmlDeviceGetTemperature(nvml_device device, unsigned sensor, unsigned *ret_celsius)
{
    BEGIN(device);
    return give(ret_celsius, 31 + sensor);
}

int nvmlDeviceGetCurrPcieLinkGeneration(nvml_device device, unsigned *ret_generation)
{
    BEGIN(device);
    return give(ret_generation, 1);
}

int nvmlDeviceGetMaxPcieLinkGeneration(nvml_device device, unsigned *ret_generation)
{
    BEGIN(device);
    return give(ret_generation, 5);
}

int nvmlDeviceGetCurrPcieLinkWidth(nvml_device device, unsigned *ret_width)
{
    BEGIN(device);
    return give(ret_width, device->gpu == 1 ? 8 : 16);
}

int nvmlDeviceGetMaxPcieLinkWidth(nvml_device device, unsigned *ret_width)
{
    BEGIN(device);
    return give(ret_width, 16);
}

int nvmlDeviceGetComputeRunningProcesses_v3(nvml_device device, unsigned *count,
                                            struct nvml_process *ret_processes)
{
    BEGIN(device);
    unsigned there = device->gpu == 1 ? 2 : 0;
    for (unsigned i = 0; i < there && i < *count; i++)
        ret_processes[i] = (struct nvml_process){.pid = 4711 + i, .used_bytes = 1 << 20};
    return give(count, there);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(nvml_device device, unsigned *count,
                                             struct nvml_process *ret_processes)
{
    BEGIN(device);
    if (device->gpu == 1)
        ret_processes[0] = (struct nvml_process){.pid = 4712}; /* it computes, too */
    return give(count, device->gpu == 1);
}

/* The h200 machine: 18 links to switches, two of the third GPU's are out. The gh200 machine: six to
 * each of the others. */
int nvmlDeviceGetNvLinkState(nvml_device device, unsigned link, unsigned *ret_active)
{
    BEGIN(device);
    if (link >= 18)
        return INVALID_ARGUMENT;
    return give(ret_active, !(is_node("h200") && device->gpu == 2 && link < 2));
}

int nvmlDeviceGetPcieReplayCounter(nvml_device device, unsigned *ret_count)
{
    BEGIN(device);
    return give(ret_count, device->gpu == 1 ? 41 : 0);
}

int nvmlDeviceGetNvLinkErrorCounter(nvml_device device, unsigned link, unsigned counter,
                                    unsigned long long *ret_count)
{
    BEGIN(device);
    *ret_count = device->gpu == 1 && link < 2 ? counter + 1 : 0;
    return NVML_OK;
}

int nvmlDeviceGetNvLinkVersion(nvml_device device, unsigned link, unsigned *ret_version)
{
    (void)link;
    BEGIN(device);
    return give(ret_version, 6);
}

int nvmlDeviceGetNvLinkRemoteDeviceType(nvml_device device, unsigned link, unsigned *ret_type)
{
    (void)link;
    BEGIN(device);
    return give(ret_type, is_node("gh200") ? NVML_REMOTE_GPU : NVML_REMOTE_SWITCH);
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml_device device, unsigned link, struct nvml_pci *ret_pci)
{
    BEGIN(device);
    if (!is_node("gh200"))
        return NOT_SUPPORTED;
    int other = (int)link / 6;
    put_pci(other + (other >= device->gpu), ret_pci);
    return NVML_OK;
}

static void answer(nvml_device device, struct nvml_field *field)
{
    bool has_c2c = is_node("gh200");
    field->code = NVML_OK;
    field->type = NVML_UINT;
    switch (field->field) {
    case NVML_NVLINK_COUNT:
        field->value.uint32 = 18;
        break;
    case NVML_NVLINK_SPEED_COMMON:
    case NVML_NVLINK_SPEED:
        field->value.uint32 = has_c2c ? 25000 : 26562;
        break;
    case NVML_C2C_COUNT:
        field->value.uint32 = 10;
        field->code = has_c2c ? NVML_OK : NOT_SUPPORTED;
        break;
    case NVML_C2C_STATUS:
        field->value.uint32 = !(device->gpu == 1 && field->scope == 9);
        break;
    case NVML_C2C_SPEED:
        field->type = NVML_ULONGLONG;
        field->value.uint64 = 44712;
        break;
    default:
        field->code = NOT_SUPPORTED;
    }
}

int nvmlDeviceGetFieldValues(nvml_device device, int count, struct nvml_field *fields)
{
    BEGIN(device);
    for (int i = 0; i < count; i++)
        answer(device, &fields[i]);
    return NVML_OK;
}

#ifndef FAKE_OLD
int nvmlDeviceGetNumaNodeId(nvml_device device, unsigned *ret_node)
{
    BEGIN(device);
    return is_node("gh200") ? give(ret_node, 4 + 8 * (unsigned)device->gpu) : NOT_SUPPORTED;
}

int nvmlDeviceGetRemappedRows(nvml_device device, unsigned *ret_corrected,
                              unsigned *ret_uncorrected, unsigned *ret_pending,
                              unsigned *ret_failed)
{
    BEGIN(device);
    *ret_corrected = 0;
    *ret_uncorrected = *ret_pending = device->gpu == 2;
    *ret_failed = 0;
    return NVML_OK;
}

int nvmlDeviceGetCurrentClocksEventReasons(nvml_device device, unsigned long long *ret_reasons)
{
    BEGIN(device);
    return nvmlDeviceGetCurrentClocksThrottleReasons(device, ret_reasons);
}

int nvmlDeviceGetC2cModeInfoV(nvml_device device, unsigned *ret_enabled)
{
    BEGIN(device);
    return is_node("gh200") ? give(ret_enabled, 1) : NOT_SUPPORTED;
}
#endif
