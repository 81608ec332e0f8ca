#include "discover/iodev.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

enum vendor { VENDOR_AMD = 0x1002, VENDOR_NVIDIA = 0x10de, VENDOR_INTEL = 0x8086 };

struct iodev *iodev_new(struct iodev_list *devices)
{
    if (!grow_by_one(&devices->item, devices->count, sizeof *devices->item))
        return NULL;
    struct iodev *device = &devices->item[devices->count++];
    *device = (struct iodev){.pci = PCI_NONE, .bytes_per_s = (double)NAN, .place = PLACE_NONE};
    return device;
}

struct iodev_function *iodev_add_function(struct iodev *device)
{
    if (!grow_by_one(&device->functions, device->function_count, sizeof *device->functions))
        return NULL;
    struct iodev_function *function = &device->functions[device->function_count++];
    *function = (struct iodev_function){0};
    return function;
}

bool iodev_add_info(struct iodev_function *function, const char *key, const char *value)
{
    if (!grow_by_one(&function->infos, function->info_count, sizeof *function->infos))
        return false;
    function->infos[function->info_count++] = (struct iodev_info){key, value};
    return true;
}

void iodev_done(struct iodev_list *devices)
{
    for (size_t i = 0; i < devices->count; i++) {
        for (size_t f = 0; f < devices->item[i].function_count; f++)
            free(devices->item[i].functions[f].infos);
        free(devices->item[i].functions);
    }
    free(devices->item);
    *devices = (struct iodev_list){0};
}

static const char *info(const struct iodev_function *function, const char *key)
{
    for (size_t i = 0; i < function->info_count; i++)
        if (strcmp(function->infos[i].key, key) == 0)
            return function->infos[i].value;
    return NULL;
}

static bool is_numbered(const char *name, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(name, prefix, length) == 0 && name[length] >= '0' && name[length] <= '9';
}

/* True when a runtime or management library reported a gpu. hwloc 1.11 had no subtypes, so names
 * decide. OpenCL alone is no proof: it occurs below a virtual disk. */
static bool is_driver_function(const struct iodev_function *function)
{
    return is_numbered(function->name, "rsmi") || is_numbered(function->name, "nvml") ||
           is_numbered(function->name, "cuda") || is_numbered(function->name, "ze");
}

static bool is_opencl_gpu(const struct iodev_function *function)
{
    const char *type = info(function, "OpenCLDeviceType");
    return is_numbered(function->name, "opencl") && (type == NULL || strcmp(type, "GPU") == 0);
}

/* A display controller that only feeds a screen (ASPEED, Matrox, virtual ones) is no gpu. */
static bool is_gpu_class(const struct iodev *device)
{
    unsigned base = device->class_id >> 8;
    if (device->vendor == VENDOR_AMD || device->vendor == VENDOR_NVIDIA)
        return base == 0x03 || device->class_id == 0x1200;
    return device->vendor == VENDOR_INTEL &&
           (device->class_id == 0x0380 || device->class_id == 0x0302);
}

static bool is_gpu(const struct iodev *device, const uint64_t *gpu_memory, size_t gpu_memory_count)
{
    if (!device->is_pci)
        return false;
    for (size_t i = 0; i < gpu_memory_count; i++)
        if (gpu_memory[i] == device->pci)
            return true;
    for (size_t i = 0; i < device->function_count; i++)
        if (is_driver_function(&device->functions[i]))
            return true;
    return is_gpu_class(device);
}

static const char *gpu_vendor(const struct iodev *device)
{
    for (size_t i = 0; i < device->function_count; i++) {
        const char *name = device->functions[i].name;
        if (is_numbered(name, "rsmi"))
            return "amd";
        if (is_numbered(name, "nvml") || is_numbered(name, "cuda"))
            return "nvidia";
    }
    return device->vendor == VENDOR_AMD      ? "amd"
           : device->vendor == VENDOR_NVIDIA ? "nvidia"
           : device->vendor == VENDOR_INTEL  ? "intel"
                                             : "";
}

/* Libraries without rights write zeros. */
static bool is_meaningful(const char *id)
{
    return id != NULL && strspn(id, "GPU0 -") < strlen(id) && strcmp(id, "N/A") != 0;
}

static void report_kibibytes(struct draft *draft, place_id gpu, const char *text)
{
    char *end;
    if (text == NULL)
        return;
    long long kibibytes = strtoll(text, &end, 10);
    if (*end == '\0' && kibibytes > 0 && kibibytes < INT64_MAX / 1024)
        draft_report_memory(draft, gpu, kibibytes * 1024, DRAFT_HWLOC);
}

/* Adds the facts of one runtime's function about a gpu. */
static void describe_gpu(struct draft *draft, place_id gpu, const struct iodev_function *function)
{
    if (is_numbered(function->name, "renderD")) {
        char path[64];
        snprintf(path, sizeof path, "/dev/dri/%.48s", function->name);
        draft_text(draft, &draft_place(draft, gpu)->render_node, path);
        return;
    }
    if (!is_driver_function(function) && !is_opencl_gpu(function))
        return;
    draft_report_model(draft, gpu, info(function, "GPUModel"), DRAFT_HWLOC);
    report_kibibytes(draft, gpu, info(function, "RSMIVRAMSize"));
    report_kibibytes(draft, gpu, info(function, "CUDAGlobalMemorySize"));
    if (draft_place(draft, gpu)->capacity_bytes < 0)
        report_kibibytes(draft, gpu, info(function, "OpenCLGlobalMemorySize"));
    if (is_meaningful(info(function, "NVIDIAUUID")))
        draft_text(draft, &draft_place(draft, gpu)->uuid, info(function, "NVIDIAUUID"));
    if (is_meaningful(info(function, "AMDUUID"))) { /* the runtime expects this prefix */
        char uuid[64];
        snprintf(uuid, sizeof uuid, "GPU-%.40s", info(function, "AMDUUID"));
        draft_text(draft, &draft_place(draft, gpu)->uuid, uuid);
    }
    if (is_meaningful(info(function, "AMDSerial")))
        draft_detail(draft, gpu, "serial", "%s", info(function, "AMDSerial"));
    if (is_meaningful(info(function, "XGMIHiveID")))
        draft_detail(draft, gpu, "hive", "%s", info(function, "XGMIHiveID"));
    char key[16];
    snprintf(key, sizeof key, "%.*s", (int)strcspn(function->name, "0123456789"), function->name);
    if (place_detail(draft_place(draft, gpu), key) == NULL)
        draft_detail(draft, gpu, key, "%s", function->name);
}

static place_id add_gpu(struct draft *draft, const struct iodev *device)
{
    place_id gpu = draft_add(draft, PLACE_GPU, 0, DRAFT_HWLOC);
    draft_pci(draft, gpu, device->pci);
    if (device->has_locality)
        draft_cpus(draft, gpu, &device->cpus);
    draft_extra(draft, gpu)->pcie_bytes_per_s = device->bytes_per_s;
    draft_detail(draft, gpu, "vendor", "%s", gpu_vendor(device));
    return gpu;
}

/* Adds the gpus of a device. A device in partitions has one rsmi function for each; all its other
 * functions describe the first. Management libraries go before OpenCL, whose model names are the
 * chip's. */
static void add_gpus(struct draft *draft, struct iodev *device)
{
    size_t partitions = 0;
    for (size_t f = 0; f < device->function_count; f++)
        partitions += is_numbered(device->functions[f].name, "rsmi");
    device->places = partitions > 1 ? partitions : 1;
    for (size_t i = 0; i < device->places; i++) {
        place_id gpu = add_gpu(draft, device);
        if (i == 0)
            device->place = gpu;
        if (partitions > 1)
            draft_detail(draft, gpu, "partition", "%zu", i);
    }
    if (draft->out_of_memory) /* the places may not be consecutive */
        return;
    place_id next = device->place;
    for (int is_opencl = 0; is_opencl <= 1; is_opencl++)
        for (size_t f = 0; f < device->function_count; f++) {
            const struct iodev_function *function = &device->functions[f];
            if (is_opencl_gpu(function) == (is_opencl == 1))
                describe_gpu(draft, is_numbered(function->name, "rsmi") ? next++ : device->place,
                             function);
        }
    if (draft_place(draft, device->place)->model == NULL && device->model != NULL) {
        draft_report_model(draft, device->place, device->model, DRAFT_HWLOC);
        draft_extra(draft, device->place)->model_is_chip = true;
    }
    if (device->places > 1) {
        place_id parts[64];
        size_t count = device->places < 64 ? device->places : 64;
        for (size_t i = 0; i < count; i++) {
            parts[i] = device->place + (place_id)i;
            /* only the first has a name */
            draft_report_model(draft, parts[i], draft_place(draft, device->place)->model,
                               DRAFT_HWLOC);
            draft_extra(draft, parts[i])->model_is_chip =
                draft_extra(draft, device->place)->model_is_chip;
        }
        draft_module(draft, parts, count, DRAFT_HWLOC);
    }
}

/* Returns the number of ports; hwloc has the state of each. */
static unsigned count_ports(const struct iodev_function *function)
{
    unsigned count = 0;
    char key[24];
    do
        snprintf(key, sizeof key, "Port%uState", ++count);
    while (count < 256 && info(function, key) != NULL);
    return count - 1;
}

static void add_nic(struct draft *draft, struct iodev *device)
{
    place_id nic = draft_add(draft, PLACE_NIC, 0, DRAFT_HWLOC);
    device->place = nic;
    draft_pci(draft, nic, device->pci);
    if (device->has_locality)
        draft_cpus(draft, nic, &device->cpus);
    draft_extra(draft, nic)->pcie_bytes_per_s = device->bytes_per_s;
    draft_report_model(draft, nic, device->model, DRAFT_HWLOC);
    const char *fabric = device->class_id == 0x0207   ? "infiniband"
                         : device->class_id == 0x0208 ? "omnipath"
                                                      : "ethernet";
    for (size_t f = 0; f < device->function_count; f++) {
        const struct iodev_function *function = &device->functions[f];
        if (function->is_network) {
            draft_detail(draft, nic, "interface", "%s", function->name);
            draft_detail(draft, nic, "address", "%s",
                         info(function, "Address") != NULL ? info(function, "Address") : "");
            /* Cray's and LLNL's names for Slingshot interfaces */
            if ((is_numbered(function->name, "hsn") || is_numbered(function->name, "hsi")) &&
                device->class_id == 0x0200)
                fabric = "slingshot";
        } else if (function->is_verbs) {
            draft_detail(draft, nic, "verbs", "%s", function->name);
            draft_text(draft, &draft_place(draft, nic)->uuid, info(function, "NodeGUID"));
            /* 4 is active in InfiniBand's port states */
            const char *state = info(function, "Port1State");
            if (state != NULL)
                draft_detail(draft, nic, "port_state", "%s",
                             strcmp(state, "4") == 0 ? "active" : state);
            if (count_ports(function) > 1)
                draft_detail(draft, nic, "ports", "%u", count_ports(function));
        }
    }
    draft_detail(draft, nic, "fabric", "%s", fabric);
}

static bool is_nic(const struct iodev *device)
{
    for (size_t f = 0; device->is_pci && f < device->function_count; f++)
        if (device->functions[f].is_network || device->functions[f].is_verbs)
            return true;
    return false;
}

static bool is_switch(const struct iodev *device)
{
    return device->is_pci &&
           ((device->subtype != NULL && strcmp(device->subtype, "NVSwitch") == 0) ||
            (device->vendor == VENDOR_NVIDIA && device->class_id == 0x0680));
}

/* Gpus with the same serial number are on one card: the two GCDs of an MI250X. */
static void add_cards(struct draft *draft)
{
    for (place_id first = graph_next(draft->graph, PLACE_GPU, 0); first != PLACE_NONE;
         first = graph_next(draft->graph, PLACE_GPU, first + 1)) {
        const char *serial = place_detail(draft_place(draft, first), "serial");
        place_id card[16];
        size_t count = 0;
        if (serial == NULL || draft_place(draft, first)->parent != PLACE_NONE)
            continue;
        for (place_id gpu = first; gpu != PLACE_NONE && count < 16;
             gpu = graph_next(draft->graph, PLACE_GPU, gpu + 1)) {
            const char *other = place_detail(draft_place(draft, gpu), "serial");
            if (other != NULL && strcmp(other, serial) == 0)
                card[count++] = gpu;
        }
        draft_module(draft, card, count, DRAFT_HWLOC);
    }
}

/* Assigns OpenCL gpus that are below no gpu's PCI device. When there are as many as gpus without a
 * name, and all are equal, they name them. */
static void place_strays(const struct iodev_list *devices, struct draft *draft)
{
    const struct iodev_function *stray = NULL;
    size_t strays = 0, nameless = 0;
    bool alike = true;
    for (size_t i = 0; i < devices->count; i++)
        for (size_t f = 0; devices->item[i].places == 0 && f < devices->item[i].function_count;
             f++) {
            const struct iodev_function *function = &devices->item[i].functions[f];
            const char *model = info(function, "GPUModel");
            if (!is_opencl_gpu(function) || model == NULL)
                continue;
            if (devices->item[i].is_pci) {
                char address[24];
                pci_format(devices->item[i].pci, address);
                draft_disagree(draft,
                               "hwloc places %s (%s) at %s, which is no gpu; the place is ignored.",
                               function->name, model, address);
            }
            alike = alike && (stray == NULL || strcmp(info(stray, "GPUModel"), model) == 0);
            stray = function;
            strays++;
        }
    for (place_id gpu = graph_next(draft->graph, PLACE_GPU, 0); gpu != PLACE_NONE;
         gpu = graph_next(draft->graph, PLACE_GPU, gpu + 1))
        nameless += draft_place(draft, gpu)->model == NULL;
    if (strays == 0 || !alike || strays != nameless)
        return;
    for (place_id gpu = graph_next(draft->graph, PLACE_GPU, 0); gpu != PLACE_NONE;
         gpu = graph_next(draft->graph, PLACE_GPU, gpu + 1)) {
        if (draft_place(draft, gpu)->model != NULL)
            continue;
        draft_report_model(draft, gpu, info(stray, "GPUModel"), DRAFT_HWLOC);
        report_kibibytes(draft, gpu, info(stray, "OpenCLGlobalMemorySize"));
    }
}

static bool is_at(const struct draft *draft, const struct iodev *device, enum place_kind kind)
{
    return device->place != PLACE_NONE && draft->graph->places[device->place].kind == kind;
}

static size_t gpus_behind(const struct iodev_list *devices, const struct draft *draft,
                          uint64_t port)
{
    size_t gpus = 0;
    for (size_t i = 0; i < devices->count; i++)
        for (size_t k = 0; k < devices->item[i].port_count; k++)
            gpus +=
                devices->item[i].port[k].pci == port && is_at(draft, &devices->item[i], PLACE_GPU);
    return gpus;
}

/* Returns the bridges above a device that several gpus share, from the host on. Bridges with the
 * same gpus become one, with the lowest bandwidth. */
static size_t shared_ports(const struct iodev_list *devices, const struct draft *draft,
                           const struct iodev *device, struct iodev_port ret[PCI_PORT_LEVELS])
{
    size_t count = 0, before = 0;
    for (size_t k = 0; k < device->port_count; k++) {
        size_t gpus = gpus_behind(devices, draft, device->port[k].pci);
        if (gpus < 2)
            break;
        if (gpus == before)
            ret[count - 1].bytes_per_s =
                fmin(ret[count - 1].bytes_per_s, device->port[k].bytes_per_s);
        else if (count < PCI_PORT_LEVELS)
            ret[count++] = device->port[k];
        before = gpus;
    }
    return count;
}

/* Adds PCIe ports with several gpus below: these share the port's link to the host, with nics below
 * it. Partitions of one device have its own link. */
static void add_ports(const struct iodev_list *devices, struct draft *draft)
{
    for (size_t i = 0; i < devices->count && !draft->out_of_memory; i++) {
        const struct iodev *device = &devices->item[i];
        struct iodev_port port[PCI_PORT_LEVELS];
        if (!is_at(draft, device, PLACE_GPU) && !is_at(draft, device, PLACE_NIC))
            continue;
        size_t count = shared_ports(devices, draft, device, port),
               places = device->places > 0 ? device->places : 1;
        for (size_t n = 0; n < count * places; n++) {
            const struct iodev_port *its = &port[n / places];
            place_id place = device->place + (place_id)(n % places);
            char address[24], key[PCI_PORT_KEY];
            pci_format(its->pci, address);
            draft_detail(draft, place, pci_port_key(n / places, "", key), "%s", address);
            if (its->bytes_per_s > 0)
                draft_detail(draft, place, pci_port_key(n / places, "_bytes_per_s", key), "%.0f",
                             its->bytes_per_s);
        }
    }
}

void iodev_add_places(struct iodev_list *devices, const uint64_t *gpu_memory,
                      size_t gpu_memory_count, struct draft *draft)
{
    for (size_t i = 0; i < devices->count; i++) {
        struct iodev *device = &devices->item[i];
        if (is_gpu(device, gpu_memory, gpu_memory_count)) {
            add_gpus(draft, device);
        } else if (is_nic(device)) {
            add_nic(draft, device);
        } else if (is_switch(device)) {
            device->place = draft_add(draft, PLACE_SWITCH, 0, DRAFT_HWLOC);
            draft_pci(draft, device->place, device->pci);
            draft_report_model(draft, device->place,
                               device->model != NULL ? device->model : "NVSwitch", DRAFT_HWLOC);
        }
    }
    place_strays(devices, draft);
    add_cards(draft);
    add_ports(devices, draft);
}

place_id iodev_place_of(const struct iodev_list *devices, uint64_t object)
{
    for (size_t i = 0; i < devices->count; i++) {
        const struct iodev *device = &devices->item[i];
        if (device->object == object)
            return device->place;
        for (size_t f = 0; f < device->function_count; f++)
            if (device->functions[f].object == object)
                return device->place;
    }
    return PLACE_NONE;
}
