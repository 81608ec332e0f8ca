#include "gpu/facts/conditions.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "gpu/facts/nvml_device.h"
#include "gpu/facts/sysfs_device.h"

#define LIBRARY_PATH "/usr/lib/libnvidia-ml.so.1"
#define VALUE_SIZE   96

enum key {
    DRIVER,
    ECC,
    MIG,
    PARTITION,
    MEMORY_PARTITION,
    POWER_CAP,
    IOMMU,
    XNACK,
    CLOCK,
    MEMORY_CLOCK,
    THROTTLE,
    KEY_COUNT
};
static const char *const keys[KEY_COUNT] = {
    "gpu_driver",      "gpu_ecc",   "gpu_mig",   "gpu_partition", "gpu_memory_partition",
    "gpu_power_cap_w", "gpu_iommu", "gpu_xnack", "gpu_clock_mhz", "gpu_memory_clock_mhz",
    "gpu_throttle"};
static const enum key of_nvidia[] = {ECC, MIG, POWER_CAP, IOMMU},
                      of_amd[] = {ECC, PARTITION, MEMORY_PARTITION, POWER_CAP, IOMMU, XNACK},
                      at_end[] = {CLOCK, MEMORY_CLOCK, THROTTLE};

/* Values of one GPU; a text is "" when unknown. */
struct reading {
    char value[KEY_COUNT][VALUE_SIZE];
    char why[KEY_COUNT][VALUE_SIZE];
};

static void *load(void *arg)
{
    struct gpu_conditions *conditions = arg;
    char path[512];
    int code;
    snprintf(path, sizeof path, "%s%s", conditions->root, LIBRARY_PATH);
    conditions->has_nvml = gpu_nvml_open(conditions->root[0] != '\0' ? path : NULL,
                                         &conditions->nvml, &code, &conditions->why);
    int (*version)(char *text, unsigned size) =
        conditions->has_nvml ? conditions->nvml.driver_version : NULL;
    if (version == NULL || version(conditions->driver, sizeof conditions->driver) != NVML_OK)
        conditions->driver[0] = '\0';
    conditions->driver[sizeof conditions->driver - 1] = '\0';
    return NULL;
}

void gpu_conditions_begin(struct gpu_conditions *conditions, const char *root)
{
    *conditions = (struct gpu_conditions){.root = root};
    conditions->is_running = pthread_create(&conditions->thread, NULL, load, conditions) == 0;
    if (!conditions->is_running)
        load(conditions);
}

static void wait_for_library(struct gpu_conditions *conditions)
{
    if (conditions->is_running)
        pthread_join(conditions->thread, NULL);
    conditions->is_running = false;
}

void gpu_conditions_done(struct gpu_conditions *conditions)
{
    wait_for_library(conditions);
    if (conditions->has_nvml)
        gpu_nvml_close(&conditions->nvml);
    conditions->has_nvml = false;
}

__attribute__((format(printf, 3, 4))) static void set(struct reading *reading, enum key key,
                                                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reading->value[key], VALUE_SIZE, format, args);
    va_end(args);
}

static void set_number(struct reading *reading, enum key key, int64_t value)
{
    if (value >= 0)
        set(reading, key, "%lld", (long long)value);
}

static void set_switch(struct reading *reading, enum key key, int64_t value)
{
    if (value >= 0)
        set(reading, key, "%s", value > 0 ? "on" : "off");
}

static void why_all(struct reading *reading, const char *why)
{
    for (int key = 0; key < KEY_COUNT; key++)
        snprintf(reading->why[key], VALUE_SIZE, "%.90s", why);
}

static int64_t in_watts(int64_t mw) { return mw < 0 ? -1 : (mw + 500) / 1000; }

static void read_nvidia(const struct gpu_conditions *conditions, const struct gpu_device *device,
                        struct reading *reading)
{
    struct gpu_nvml_device said;
    if (!conditions->has_nvml) {
        why_all(reading, conditions->why.text);
        return;
    }
    why_all(reading, "the driver does not say it");
    if (!gpu_nvml_device_conditions(&conditions->nvml, device->name, &said)) {
        why_all(reading, "libnvidia-ml.so.1 does not list the GPU");
        return;
    }
    set_switch(reading, ECC, said.ecc);
    set_switch(reading, MIG, said.mig);
    set_number(reading, POWER_CAP, in_watts(said.power_cap_mw));
    set_number(reading, CLOCK, said.clock_mhz);
    set_number(reading, MEMORY_CLOCK, said.memory_clock_mhz);
    if (said.clock_events >= 0)
        gpu_nvml_device_events(said.clock_events, reading->value[THROTTLE], VALUE_SIZE);
}

/* ret_amd is forgotten. */
static void read_sysfs(const char *root, const struct gpu_device *device,
                       struct gpu_amd_device *ret_amd)
{
    snprintf(ret_amd->pci, sizeof ret_amd->pci, "%s", device->name);
    ret_amd->is_part = true; /* a GPU that the PCI bus does not show has its device's facts */
    gpu_sysfs_device_read(root, ret_amd);
}

/* ROCr calls memory of malloc reachable by default (SVM_ACCESSIBLE_BY_DEFAULT, HIP's
 * pageableMemoryAccess) where page faults are retried: XNACK. */
static void read_amd(const struct gpu_conditions *conditions, const struct gpu_api *api,
                     const struct gpu_device *device, struct reading *reading)
{
    struct gpu_amd_device said;
    int pageable = 0;
    gpu_sysfs_device_forget(&said);
    read_sysfs(conditions->root, device, &said);
    why_all(reading, "sysfs does not show it");
    set(reading, PARTITION, "%s", said.partition);
    set(reading, MEMORY_PARTITION, "%s", said.memory_partition);
    set_number(reading, POWER_CAP, in_watts(said.power_cap_mw));
    set_number(reading, CLOCK, said.clock_mhz);
    set_number(reading, MEMORY_CLOCK, said.memory_clock_mhz);
    if (api->attribute(api, device->api_device, GPU_ATTRIBUTE_PAGEABLE, &pageable) == 0)
        set_switch(reading, XNACK, pageable);
    else
        snprintf(reading->why[XNACK], VALUE_SIZE, "%s does not say it", api->library);
}

/* The kind of the IOMMU's domain that the GPU is in: "DMA" and "DMA-FQ" translate, "identity"
 * passes; "none": it is behind no IOMMU. */
static void read_iommu(const char *root, const struct gpu_device *device, struct reading *reading)
{
    char text[VALUE_SIZE];
    errno = 0;
    if (probe_file_text(root, text, sizeof text, "/sys/bus/pci/devices/%s/iommu_group/type",
                        device->name) &&
        text[0] != '\0')
        set(reading, IOMMU, "%s", text);
    else if (errno != ENOENT || !probe_file_text(root, text, sizeof text,
                                                 "/sys/bus/pci/devices/%s/vendor", device->name))
        snprintf(reading->why[IOMMU], VALUE_SIZE, "%s", probe_conditions_no_file(errno));
    else
        set(reading, IOMMU, "none");
}

/* True where nothing of this machine is the device's: it is a stand-in's. */
static bool is_elsewhere(const struct gpu_conditions *conditions, const struct gpu_node *node)
{
    return node->api->is_standin && conditions->root[0] == '\0';
}

void gpu_conditions_limits(struct gpu_conditions *conditions, struct gpu_node *node)
{
    bool is_cuda = strcmp(node->api->name, "cuda") == 0;
    wait_for_library(conditions);
    node->version[0] = '\0';
    if (is_cuda && !is_elsewhere(conditions, node))
        snprintf(node->version, sizeof node->version, "%.*s",
                 (int)strspn(conditions->driver, "0123456789abcdefghijklmnopqrstuvwxyz.-"),
                 conditions->driver);
    for (int i = 0; i < node->device_count; i++) {
        struct gpu_device *device = &node->device[i];
        struct gpu_nvml_device nvidia = {.power_cap_mw = -1, .clock_max_mhz = -1};
        struct gpu_amd_device amd;
        gpu_sysfs_device_forget(&amd);
        if (is_cuda && conditions->has_nvml && !is_elsewhere(conditions, node))
            (void)gpu_nvml_device_conditions(&conditions->nvml, device->name, &nvidia);
        if (!is_cuda && !is_elsewhere(conditions, node))
            read_sysfs(conditions->root, device, &amd);
        device->power_cap_w = in_watts(is_cuda ? nvidia.power_cap_mw : amd.power_cap_mw);
        device->clock_max_mhz = is_cuda ? nvidia.clock_max_mhz : amd.clock_max_mhz;
    }
}

/* NULL when out of memory. A stand-in's GPUs are not those of this machine. */
static struct reading *read_all(struct gpu_conditions *conditions, const struct gpu_node *node)
{
    struct reading *readings = calloc((size_t)node->device_count, sizeof *readings);
    bool is_cuda = strcmp(node->api->name, "cuda") == 0;
    wait_for_library(conditions);
    for (int i = 0; readings != NULL && i < node->device_count; i++) {
        if (is_elsewhere(conditions, node)) {
            why_all(&readings[i], "the driver is a stand-in");
            continue;
        }
        if (is_cuda)
            read_nvidia(conditions, &node->device[i], &readings[i]);
        else
            read_amd(conditions, node->api, &node->device[i], &readings[i]);
        read_iommu(conditions->root, &node->device[i], &readings[i]);
    }
    return readings;
}

static void print_key(struct probe_conditions *conditions, const struct gpu_node *node,
                      const struct reading *readings, enum key key)
{
    char text[GPU_DEVICES_MAX * (VALUE_SIZE + 20)] = "";
    size_t used = 0;
    bool is_same = true;
    int unknown = -1;
    for (int i = 0; i < node->device_count; i++) {
        is_same = is_same && strcmp(readings[i].value[key], readings[0].value[key]) == 0;
        if (readings[i].value[key][0] == '\0' && unknown < 0)
            unknown = i;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s", i > 0 ? ", " : "",
                                 node->device[i].name,
                                 readings[i].value[key][0] != '\0' ? readings[i].value[key] : "-");
    }
    if (is_same && unknown >= 0)
        probe_conditions_unknown(conditions, keys[key], readings[unknown].why[key]);
    else
        probe_line_text(conditions->line, keys[key], is_same ? readings[0].value[key] : text);
}

static void print_keys(struct probe_conditions *open, struct gpu_conditions *conditions,
                       const struct gpu_node *node, const enum key *list, size_t count)
{
    struct reading *readings = read_all(conditions, node);
    for (size_t i = 0; i < count; i++) {
        if (readings != NULL)
            print_key(open, node, readings, list[i]);
        else
            probe_conditions_unknown(open, keys[list[i]], "out of memory");
    }
    free(readings);
}

void gpu_conditions_print(struct gpu_conditions *conditions, const struct gpu_node *node,
                          struct probe_line *line)
{
    struct probe_conditions open;
    bool is_cuda = strcmp(node->api->name, "cuda") == 0;
    probe_conditions_begin(&open, conditions->root, line);
    probe_conditions_print(&open);
    print_keys(&open, conditions, node, is_cuda ? of_nvidia : of_amd,
               is_cuda ? sizeof of_nvidia / sizeof *of_nvidia : sizeof of_amd / sizeof *of_amd);
    if (is_cuda && conditions->driver[0] != '\0')
        probe_line_text(line, keys[DRIVER], conditions->driver);
    probe_conditions_end(&open, "not_known");
}

void gpu_conditions_print_end(struct gpu_conditions *conditions, const struct gpu_node *node,
                              struct probe_line *line)
{
    struct probe_conditions open;
    probe_conditions_begin(&open, conditions->root, line);
    print_keys(&open, conditions, node, at_end, sizeof at_end / sizeof *at_end);
    probe_conditions_end(&open, "not_known_at_end");
}

static void read_nvidia_now(const struct gpu_conditions *conditions, const char *pci,
                            struct gpu_conditions_now *now)
{
    struct gpu_nvml_device said;
    if (!conditions->has_nvml || !gpu_nvml_device_conditions(&conditions->nvml, pci, &said))
        return;
    now->clock_mhz = said.clock_mhz;
    now->power_mw = said.power_mw;
    now->temperature_c = said.temperature_c;
    if (said.clock_events >= 0)
        gpu_nvml_device_events(said.clock_events, now->throttle, sizeof now->throttle);
}

static void read_amd_now(const struct gpu_conditions *conditions, const char *pci,
                         struct gpu_conditions_now *now)
{
    struct gpu_amd_device said;
    gpu_sysfs_device_forget(&said);
    snprintf(said.pci, sizeof said.pci, "%s", pci);
    said.is_part = true; /* as in read_amd */
    gpu_sysfs_device_read(conditions->root, &said);
    now->clock_mhz = said.clock_mhz;
    now->power_mw = said.power_mw;
    now->temperature_c = said.temperature_c;
}

void gpu_conditions_read_now(struct gpu_conditions *conditions, const struct gpu_node *node,
                             struct gpu_conditions_now *ret_now)
{
    bool is_cuda = strcmp(node->api->name, "cuda") == 0;
    wait_for_library(conditions);
    for (int i = 0; i < node->device_count; i++) {
        ret_now[i] =
            (struct gpu_conditions_now){.clock_mhz = -1, .power_mw = -1, .temperature_c = -1};
        if (node->api->is_standin && conditions->root[0] == '\0')
            continue; /* its GPUs are not those of this machine */
        if (is_cuda)
            read_nvidia_now(conditions, node->device[i].name, &ret_now[i]);
        else
            read_amd_now(conditions, node->device[i].name, &ret_now[i]);
    }
}
