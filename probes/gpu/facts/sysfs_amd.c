#include "gpu/facts/sysfs_amd.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file.h"
#include "gpu/driver/api.h"
#include "gpu/facts/sysfs_device.h"

#define KFD        "/sys/class/kfd/kfd"
#define NODES_MAX  512
#define VENDOR_AMD 0x1002

enum { LINK_PCIE = 2, LINK_XGMI = 11, WEIGHT_SAME_DEVICE = 13, WEIGHT_XGMI_HOP = 15 };

/* Devices of KFD nodes: a GPU's node has its device, a node with CPUs its place among those. */
struct nodes {
    int device[NODES_MAX]; /* -1 */
    int host[NODES_MAX];   /* -1 */
    int hosts, closed;
};

/* The number behind "key " at the start of a line; 0 when there is none. */
static uint64_t property(const char *text, const char *key)
{
    size_t length = strlen(key);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0 && line[length] == ' ')
            return strtoull(line + length + 1, NULL, 10);
    }
    return 0;
}

static struct gpu_amd_device *add_device(struct gpu_amd *amd)
{
    if (amd->count == GPU_AMD_DEVICES_MAX)
        return NULL;
    struct gpu_amd_device *device = &amd->device[amd->count++];
    gpu_sysfs_device_forget(device);
    return device;
}

static void read_node(const char *root, int number, const char *properties,
                      struct gpu_amd_device *device)
{
    uint64_t location = property(properties, "location_id"),
             domain = property(properties, "domain");
    uint64_t render = property(properties, "drm_render_minor"),
             unique = property(properties, "unique_id"), hive = property(properties, "hive_id");
    device->kfd_node = number;
    device->gpu_id = probe_file_number(root, KFD "/topology/nodes/%d/gpu_id", number);
    snprintf(device->pci, sizeof device->pci, "%04x:%02x:%02x.%x", (unsigned)(domain & 0xfffff),
             (unsigned)(location >> 8 & 0xff), (unsigned)(location >> 3 & 0x1f),
             (unsigned)(location & 7));
    if (render > 0 && render < 4096)
        snprintf(device->render_node, sizeof device->render_node, "/dev/dri/renderD%u",
                 (unsigned)(render & 0xfff));
    if (unique != 0)
        snprintf(device->uuid, sizeof device->uuid, "GPU-%016llx", (unsigned long long)unique);
    if (hive != 0)
        snprintf(device->hive, sizeof device->hive, "%llx", (unsigned long long)hive);
}

static void read_nodes(const char *root, struct gpu_amd *amd, struct nodes *nodes)
{
    for (int i = 0; i < NODES_MAX; i++) {
        char text[8192], path[512];
        nodes->device[i] = nodes->host[i] = -1;
        if (!probe_file_text(root, text, sizeof text, KFD "/topology/nodes/%d/properties", i)) {
            snprintf(path, sizeof path, "%s" KFD "/topology/nodes/%d/properties", root, i);
            /* the file exists and cannot be read */
            nodes->closed += access(path, F_OK) == 0;
            continue;
        }
        struct gpu_amd_device *device = property(text, "simd_count") > 0 ? add_device(amd) : NULL;
        if (device != NULL) {
            nodes->device[i] = amd->count - 1;
            read_node(root, i, text, device);
        } else if (property(text, "cpu_cores_count") > 0) {
            nodes->host[i] = nodes->hosts++;
        }
    }
    for (int i = 0; i < amd->count; i++)
        for (int k = 0; k < amd->count; k++) /* they differ in the function alone */
            amd->device[i].is_part |= i != k && strncmp(amd->device[i].pci, amd->device[k].pci,
                                                        strlen(amd->device[i].pci) - 1) == 0;
}

/* The driver shows KFD's nodes with cpus in the order of the host's NUMA nodes with cpus. */
static int host_numa(const char *root, int place)
{
    char text[1024];
    for (int numa = 0, seen = 0; numa < 1024; numa++)
        if (probe_file_text(root, text, sizeof text, "/sys/devices/system/node/node%d/cpulist",
                            numa) &&
            text[0] != '\0' && seen++ == place)
            return numa;
    return place;
}

static void add_link(const char *root, const struct nodes *nodes, int from, const char *properties,
                     struct gpu_amd_device *device)
{
    uint64_t type = property(properties, "type"), weight = property(properties, "weight"),
             to = property(properties, "node_to");
    uint64_t one = property(properties, "min_bandwidth"),
             all = property(properties, "max_bandwidth");
    if (device->link_count == GPU_AMD_LINKS_MAX || to >= NODES_MAX ||
        (type != LINK_XGMI && type != LINK_PCIE))
        return;
    bool is_hop = type == LINK_XGMI && weight == WEIGHT_XGMI_HOP,
         is_own = type == LINK_XGMI && weight == WEIGHT_SAME_DEVICE;
    int target = nodes->device[to], host = nodes->host[to];
    if (device->is_part || to == (uint64_t)from || (target >= 0 ? !is_hop : host < 0 || is_own))
        /* Skips three kinds of links. PCIe between GPUs is a path over the host, and an APU's
         * memory is no link. Links shared by several parts belong to none of them. */
        return;
    device->link[device->link_count++] = (struct gpu_amd_link){
        .to = target,
        .numa = target >= 0 ? -1 : host_numa(root, host),
        .is_xgmi = type == LINK_XGMI,
        .width = type == LINK_XGMI && one > 0 && all % one == 0 && all / one < 1000
                     ? (int)(all / one)
                     : 0,
        .bytes_per_s = all > 0 && all < 100000000 ? (int64_t)all * 1000000 : -1,
    };
}

static void read_links(const char *root, const struct nodes *nodes, struct gpu_amd_device *device)
{
    char text[4096];
    for (int i = 0; i < NODES_MAX; i++) {
        if (!probe_file_text(root, text, sizeof text,
                             KFD "/topology/nodes/%d/io_links/%d/properties", device->kfd_node, i))
            break;
        add_link(root, nodes, device->kfd_node, text, device);
    }
}

/* Reads the devices with a render node. Used where there is no KFD. */
static void read_render_nodes(const char *root, struct gpu_amd *amd)
{
    for (int minor = 128; minor < 192; minor++) {
        char text[4096], vendor[16];
        if (!probe_file_text(root, vendor, sizeof vendor, "/sys/class/drm/renderD%d/device/vendor",
                             minor) ||
            strtol(vendor, NULL, 16) != VENDOR_AMD ||
            !probe_file_text(root, text, sizeof text, "/sys/class/drm/renderD%d/device/uevent",
                             minor))
            continue;
        const char *slot = strstr(text, "PCI_SLOT_NAME=");
        struct gpu_amd_device *device = slot != NULL ? add_device(amd) : NULL;
        if (device == NULL)
            continue;
        snprintf(device->pci, sizeof device->pci, "%.*s", (int)strcspn(slot + 14, "\n"), slot + 14);
        snprintf(device->render_node, sizeof device->render_node, "/dev/dri/renderD%d", minor);
    }
}

/* Adds a process that opened the driver to the devices where it has memory. */
static void add_process(const char *root, int64_t pid, struct gpu_amd *amd)
{
    for (int i = 0; i < amd->count; i++) {
        struct gpu_amd_device *device = &amd->device[i];
        if (device->gpu_id <= 0)
            continue;
        if (probe_file_number(root, KFD "/proc/%lld/vram_%lld", (long long)pid,
                              (long long)device->gpu_id) <= 0)
            continue;
        if (device->process_count < GPU_AMD_PIDS_MAX)
            device->pid[device->process_count] = pid;
        device->process_count++;
    }
}

static void read_processes(const char *root, struct gpu_amd *amd)
{
    char path[512];
    snprintf(path, sizeof path, "%s%s", root, KFD "/proc");
    DIR *directory = opendir(path);
    if (directory == NULL)
        return;
    for (int i = 0; i < amd->count; i++)
        if (amd->device[i].gpu_id > 0)
            amd->device[i].process_count = 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char *end;
        long long pid = strtoll(entry->d_name, &end, 10);
        if (pid > 0 && *end == '\0')
            add_process(root, pid, amd);
    }
    closedir(directory);
}

/* Finds the permission that is missing for the GPUs that the driver shows. */
static void check_access(const char *root, const struct nodes *nodes, struct gpu_amd *amd)
{
    amd->is_wrong =
        (amd->count > 0 && gpu_access_denied(root, "hip", &amd->why)) || nodes->closed > 0;
    if (amd->why.text[0] != '\0')
        return;
    if (nodes->closed > 0)
        probe_why_write(&amd->why,
                        "%d nodes of " KFD
                        " are closed to this process, as its cgroup's device rules do it",
                        nodes->closed);
    else if (amd->count == 0)
        probe_why_write(&amd->why, "the driver amdgpu shows no GPU");
}

void gpu_sysfs_amd_read(const char *root, struct gpu_amd *ret)
{
    *ret = (struct gpu_amd){.device = calloc(GPU_AMD_DEVICES_MAX, sizeof *ret->device)};
    struct nodes *nodes = calloc(1, sizeof *nodes);
    if (ret->device == NULL || nodes == NULL) {
        free(nodes);
        probe_why_write(&ret->why, "out of memory");
        return;
    }
    read_nodes(root, ret, nodes);
    if (ret->count == 0)
        read_render_nodes(root, ret);
    for (int i = 0; i < ret->count; i++) {
        gpu_sysfs_device_read(root, &ret->device[i]);
        if (ret->device[i].kfd_node >= 0)
            read_links(root, nodes, &ret->device[i]);
    }
    read_processes(root, ret);
    check_access(root, nodes, ret);
    free(nodes);
}

void gpu_sysfs_amd_done(struct gpu_amd *amd)
{
    free(amd->device);
    *amd = (struct gpu_amd){0};
}
