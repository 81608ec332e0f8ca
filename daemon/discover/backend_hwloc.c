/* The door to hwloc: walks a topology, of this machine or from XML, and copies its objects to the
 * draft. */
#include "discover/backend.h"

#include <hwloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "discover/backend_hwloc.h"
#include "discover/iodev.h"

#define GIB              1073741824.0
#define MEMORY_TOLERANCE 0.10 /* the kernel keeps some of each node for itself */

struct walk {
    hwloc_topology_t topology;
    struct draft *draft;
    struct cpuset allowed;
    struct iodev_list devices;
};

static struct cpuset to_cpuset(const struct walk *walk, hwloc_const_bitmap_t bitmap)
{
    return backend_hwloc_cpuset(bitmap, &walk->allowed);
}

static struct hwloc_obj *next_of(const struct walk *walk, hwloc_obj_type_t type,
                                 struct hwloc_obj *previous)
{
    return hwloc_get_next_obj_by_type(walk->topology, type, previous);
}

static void add_machine(struct walk *walk)
{
    struct hwloc_obj *root = hwloc_get_root_obj(walk->topology);
    struct draft *draft = walk->draft;
    draft_cpus(draft, 0, &walk->allowed);
    const char *model = hwloc_obj_get_info_by_name(root, "DMIProductName");
    draft_report_model(draft, 0,
                       model != NULL ? model : hwloc_obj_get_info_by_name(root, "PlatformModel"),
                       DRAFT_HWLOC);
    const char *architecture = hwloc_obj_get_info_by_name(root, "Architecture");
    draft_detail(draft, 0, "architecture", "%s", architecture != NULL ? architecture : "");
    draft_software(draft, "kernel", hwloc_obj_get_info_by_name(root, "OSRelease"));
    draft_software(draft, "hwloc", hwloc_obj_get_info_by_name(root, "hwlocVersion"));
}

static void add_packages(struct walk *walk)
{
    for (struct hwloc_obj *obj = NULL; (obj = next_of(walk, HWLOC_OBJ_PACKAGE, obj)) != NULL;) {
        struct cpuset cpus = to_cpuset(walk, obj->cpuset);
        if (cpuset_is_empty(&cpus))
            continue;
        place_id id = draft_add(walk->draft, PLACE_PACKAGE, 0, DRAFT_HWLOC);
        draft_cpus(walk->draft, id, &cpus);
        const char *model = hwloc_obj_get_info_by_name(obj, "CPUModel");
        if (model == NULL)
            continue;
        char trimmed[128]; /* AMD pads with spaces */
        snprintf(trimmed, sizeof trimmed, "%s", model);
        for (size_t end = strlen(trimmed); end > 0 && trimmed[end - 1] == ' ';)
            trimmed[--end] = '\0';
        draft_report_model(walk->draft, id, trimmed, DRAFT_HWLOC);
    }
}

static bool is_gpu_memory(struct hwloc_obj *node)
{
    return node->subtype != NULL && strcmp(node->subtype, "GPUMemory") == 0;
}

/* hwloc gives a memory without cpus the cpus nearest to it. A node does not own its cpus when a
 * node of a lower number has the same ones (kernels number the nodes with cpus first). It does not
 * either when another node has a part of them. */
static bool owns_cpus(const struct walk *walk, struct hwloc_obj *node)
{
    if (node->cpuset == NULL || hwloc_bitmap_iszero(node->cpuset) || is_gpu_memory(node))
        return false;
    for (struct hwloc_obj *other = NULL;
         (other = next_of(walk, HWLOC_OBJ_NUMANODE, other)) != NULL;) {
        if (other == node || is_gpu_memory(other) || other->cpuset == NULL ||
            hwloc_bitmap_iszero(other->cpuset))
            continue;
        bool same = hwloc_bitmap_isequal(other->cpuset, node->cpuset);
        if ((same && other->os_index < node->os_index) ||
            (!same && hwloc_bitmap_isincluded(other->cpuset, node->cpuset)))
            return false;
    }
    return true;
}

/* hwloc 1.11 shows the memory of POWER9's gpus as plain NUMA nodes; their driver numbers them down
 * from 255. */
static bool is_power_gpu_memory(struct walk *walk, struct hwloc_obj *node)
{
    const char *architecture = place_detail(draft_place(walk->draft, 0), "architecture");
    return architecture != NULL && strncmp(architecture, "ppc64", 5) == 0 &&
           node->os_index >= 240 && node->os_index <= 255;
}

static place_id package_above(struct walk *walk, struct hwloc_obj *obj)
{
    while (obj != NULL && obj->type != HWLOC_OBJ_PACKAGE)
        obj = obj->parent;
    if (obj == NULL)
        return PLACE_NONE;
    struct cpuset cpus = to_cpuset(walk, obj->cpuset);
    place_id id = graph_next(walk->draft->graph, PLACE_PACKAGE, 0);
    while (id != PLACE_NONE && !cpuset_equal(draft_place(walk->draft, id)->cpus, &cpus))
        id = graph_next(walk->draft->graph, PLACE_PACKAGE, id + 1);
    return id;
}

static void add_numas(struct walk *walk)
{
    hwloc_const_nodeset_t allowed = hwloc_topology_get_allowed_nodeset(walk->topology);
    for (struct hwloc_obj *obj = NULL; (obj = next_of(walk, HWLOC_OBJ_NUMANODE, obj)) != NULL;) {
        struct cpuset cpus = to_cpuset(walk, obj->cpuset);
        uint64_t bytes = obj->attr == NULL ? 0 : obj->attr->numanode.local_memory;
        /* The kernel allows no memory of a node without any, yet its cpus exist. */
        if (bytes > 0 ? !hwloc_bitmap_isset(allowed, obj->os_index) : cpuset_is_empty(&cpus))
            continue;
        struct draft *draft = walk->draft;
        place_id id = draft_add(draft, PLACE_NUMA, (int32_t)obj->os_index, DRAFT_HWLOC);
        draft_report_memory(draft, id, bytes > INT64_MAX ? -1 : (int64_t)bytes, DRAFT_HWLOC);
        if (owns_cpus(walk, obj)) {
            draft_cpus(draft, id, &cpus);
        } else {
            draft_place(draft, id)->parent = package_above(walk, obj);
            if (!cpuset_is_empty(&cpus) && draft_place(draft, id)->parent != PLACE_NONE) {
                char list[512];
                cpuset_format_list(&cpus, list, sizeof list);
                draft_detail(draft, id, "near_cpus", "%s", list);
            }
        }
        if (is_gpu_memory(obj) || is_power_gpu_memory(walk, obj))
            draft_detail(draft, id, "memory", "gpu");
        else if (obj->subtype != NULL)
            draft_detail(draft, id, "memory", "%s", obj->subtype);
    }
}

/* A NUMA node with cpus and no memory is often no object any more. The topmost object of its cpus
 * remains, and names the node that it was in. */
static void add_memoryless_numas(struct walk *walk)
{
    for (int depth = 0; depth < hwloc_topology_get_depth(walk->topology); depth++)
        for (struct hwloc_obj *obj = NULL;
             (obj = hwloc_get_next_obj_by_depth(walk->topology, depth, obj)) != NULL;) {
            if (obj->nodeset == NULL || obj->complete_nodeset == NULL ||
                !hwloc_bitmap_iszero(obj->nodeset) ||
                hwloc_bitmap_weight(obj->complete_nodeset) != 1)
                continue;
            struct cpuset cpus = to_cpuset(walk, obj->cpuset);
            int number = hwloc_bitmap_first(obj->complete_nodeset);
            if (cpuset_is_empty(&cpus) ||
                draft_numbered(walk->draft, PLACE_NUMA, number) != PLACE_NONE)
                continue;
            place_id id = draft_add(walk->draft, PLACE_NUMA, number, DRAFT_HWLOC);
            draft_report_memory(walk->draft, id, 0, DRAFT_HWLOC);
            draft_cpus(walk->draft, id, &cpus);
        }
}

static int64_t kernel_memory(struct walk *walk)
{
    const char *text =
        hwloc_obj_get_info_by_name(hwloc_get_root_obj(walk->topology), BACKEND_HWLOC_MEMORY_INFO);
    bool is_number = text != NULL && text[strspn(text, "0123456789")] == '\0' && strlen(text) <= 18;
    return is_number ? strtoll(text, NULL, 10) : 0;
}

/* In virtual machines that get memory on demand, the sizes of nodes may be far from the kernel's
 * total. A single node has the whole total; of several the distribution is unknown. */
static void compare_memory(struct walk *walk)
{
    double sum = 0, total = (double)kernel_memory(walk);
    int nodes = 0, number = -1;
    for (struct hwloc_obj *obj = NULL; (obj = next_of(walk, HWLOC_OBJ_NUMANODE, obj)) != NULL;) {
        double bytes = obj->attr == NULL ? 0 : (double)obj->attr->numanode.local_memory;
        sum += bytes;
        nodes += bytes > 0;
        number = bytes > 0 ? (int)obj->os_index : number;
    }
    if (nodes == 0 || total == 0 || fabs(sum - total) <= MEMORY_TOLERANCE * total)
        return;
    draft_detail(walk->draft, 0, "kernel_memory_bytes", "%.0f", total);
    if (nodes > 1) {
        draft_disagree(walk->draft,
                       "%d NUMA nodes have %.1f GiB of memory together, MemTotal of /proc/meminfo "
                       "is %.1f GiB; kept is what the nodes say.",
                       nodes, sum / GIB, total / GIB);
        return;
    }
    draft_disagree(walk->draft,
                   "numa%d, alone, has %.1f GiB of memory, MemTotal of /proc/meminfo is %.1f GiB; "
                   "kept is MemTotal.",
                   number, sum / GIB, total / GIB);
    draft_place(walk->draft, draft_numbered(walk->draft, PLACE_NUMA, number))->capacity_bytes =
        (int64_t)total;
}

/* Adds the highest data or unified cache above a core: L3, or L2 where it ends there. It may differ
 * between the cores of a hybrid. */
static void add_llc(struct walk *walk, struct hwloc_obj *core)
{
    struct hwloc_obj *cache = NULL;
    for (struct hwloc_obj *obj = core->parent; obj != NULL; obj = obj->parent)
        if (hwloc_obj_type_is_dcache(obj->type))
            cache = obj;
    if (cache == NULL)
        return;
    struct cpuset cpus = to_cpuset(walk, cache->cpuset);
    struct graph *graph = walk->draft->graph;
    for (place_id id = graph_next(graph, PLACE_LLC, 0); id != PLACE_NONE;
         id = graph_next(graph, PLACE_LLC, id + 1))
        /* NULL: out of memory */
        if (graph->places[id].cpus != NULL && cpuset_equal(graph->places[id].cpus, &cpus))
            return;
    place_id id = draft_add(walk->draft, PLACE_LLC, 0, DRAFT_HWLOC);
    draft_cpus(walk->draft, id, &cpus);
    if (cache->attr->cache.size > 0 && cache->attr->cache.size < INT64_MAX)
        draft_report_memory(walk->draft, id, (int64_t)cache->attr->cache.size, DRAFT_HWLOC);
    draft_detail(walk->draft, id, "level", "%u", cache->attr->cache.depth);
}

static enum berth_code add_cores_and_pus(struct walk *walk, struct berth_err *err)
{
    bool has_cores = hwloc_get_nbobjs_by_type(walk->topology, HWLOC_OBJ_CORE) > 0;
    bool has_kinds = hwloc_cpukinds_get_nr(walk->topology, 0) > 1;
    for (struct hwloc_obj *obj = NULL;
         (obj = next_of(walk, has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU, obj)) != NULL;) {
        struct cpuset cpus = to_cpuset(walk, obj->cpuset);
        if (cpuset_is_empty(&cpus))
            continue;
        place_id id = draft_add(walk->draft, PLACE_CORE, 0, DRAFT_HWLOC);
        draft_cpus(walk->draft, id, &cpus);
        int kind = has_kinds ? hwloc_cpukinds_get_by_cpuset(walk->topology, obj->cpuset, 0) : -1;
        if (kind >= 0)
            draft_detail(walk->draft, id, "kind", "%d", kind);
        add_llc(walk, obj);
    }
    for (struct hwloc_obj *obj = NULL; (obj = next_of(walk, HWLOC_OBJ_PU, obj)) != NULL;) {
        if (obj->os_index >= CPUSET_MAX)
            return err_set(err, BERTH_BAD_DATA, "hwloc shows cpu %u; numbers must be under %d",
                           obj->os_index, CPUSET_MAX);
        if (!cpuset_has(&walk->allowed, obj->os_index))
            continue;
        place_id id = draft_add(walk->draft, PLACE_PU, (int32_t)obj->os_index, DRAFT_HWLOC);
        struct cpuset cpus = {0};
        cpuset_add(&cpus, obj->os_index);
        draft_cpus(walk->draft, id, &cpus);
    }
    if (graph_next(walk->draft->graph, PLACE_PU, 0) == PLACE_NONE)
        return err_set(err, BERTH_BAD_DATA, "hwloc shows no cpus");
    return BERTH_OK;
}

static struct iodev *device_of(struct walk *walk, struct hwloc_obj *function)
{
    struct hwloc_obj *obj = function->parent;
    while (obj != NULL && obj->type == HWLOC_OBJ_OS_DEVICE)
        obj = obj->parent;
    if (obj != NULL && obj->type == HWLOC_OBJ_PCI_DEVICE)
        for (size_t i = 0; i < walk->devices.count; i++)
            if (walk->devices.item[i].object == obj->gp_index)
                return &walk->devices.item[i];
    return iodev_new(&walk->devices);
}

static bool copy_functions(struct walk *walk)
{
    for (struct hwloc_obj *obj = NULL; (obj = hwloc_get_next_osdev(walk->topology, obj)) != NULL;) {
        hwloc_obj_osdev_type_t type = obj->attr->osdev.type;
        if (obj->name == NULL ||
            (type != HWLOC_OBJ_OSDEV_GPU && type != HWLOC_OBJ_OSDEV_COPROC &&
             type != HWLOC_OBJ_OSDEV_NETWORK && type != HWLOC_OBJ_OSDEV_OPENFABRICS))
            continue;
        struct iodev *device = device_of(walk, obj);
        struct iodev_function *function = device == NULL ? NULL : iodev_add_function(device);
        if (function == NULL)
            return false;
        function->name = obj->name;
        function->is_network = type == HWLOC_OBJ_OSDEV_NETWORK;
        function->is_verbs = type == HWLOC_OBJ_OSDEV_OPENFABRICS;
        function->object = obj->gp_index;
        for (unsigned i = 0; i < obj->infos_count; i++)
            if (!iodev_add_info(function, obj->infos[i].name, obj->infos[i].value))
                return false;
    }
    return true;
}

static uint64_t address_of(const struct hwloc_pcidev_attr_s *pci)
{
    return (uint64_t)pci->domain << 16 | (uint64_t)pci->bus << 8 | (uint64_t)(pci->dev & 31) << 3 |
           (pci->func & 7);
}

/* hwloc's unit is GB/s; a node folder may state anything. */
static double speed_of(const struct hwloc_pcidev_attr_s *pci)
{
    return pci->linkspeed > 0 && isfinite(pci->linkspeed) ? (double)pci->linkspeed * 1e9
                                                          : (double)NAN;
}

static bool is_port(const struct hwloc_obj *obj)
{
    return obj->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI;
}

/* Copies the bridges above it that are PCI devices, from the root port on, up to IODEV_PORTS.
 * Devices behind one share its link. */
static void copy_ports(const struct hwloc_obj *obj, struct iodev *device)
{
    size_t left = 0;
    for (const struct hwloc_obj *at = obj->parent; at != NULL && at->type == HWLOC_OBJ_BRIDGE;
         at = at->parent)
        left += is_port(at);
    device->port_count = left < IODEV_PORTS ? left : IODEV_PORTS;
    for (const struct hwloc_obj *at = obj->parent; at != NULL && at->type == HWLOC_OBJ_BRIDGE;
         at = at->parent)
        if (is_port(at) && --left < IODEV_PORTS)
            device->port[left] = (struct iodev_port){address_of(&at->attr->bridge.upstream.pci),
                                                     speed_of(&at->attr->bridge.upstream.pci)};
}

static bool copy_devices(struct walk *walk)
{
    for (struct hwloc_obj *obj = NULL;
         (obj = hwloc_get_next_pcidev(walk->topology, obj)) != NULL;) {
        const struct hwloc_pcidev_attr_s *pci = &obj->attr->pcidev;
        struct iodev *device = iodev_new(&walk->devices);
        if (device == NULL)
            return false;
        device->is_pci = true;
        device->pci = address_of(pci);
        device->class_id = pci->class_id;
        device->vendor = pci->vendor_id;
        device->subtype = obj->subtype;
        device->model = hwloc_obj_get_info_by_name(obj, "PCIDevice");
        device->bytes_per_s = speed_of(pci);
        copy_ports(obj, device);
        device->object = obj->gp_index;
        struct hwloc_obj *near = hwloc_get_non_io_ancestor_obj(walk->topology, obj);
        device->cpus = to_cpuset(walk, near == NULL ? NULL : near->cpuset);
        device->has_locality = !cpuset_is_empty(&device->cpus);
    }
    return copy_functions(walk);
}

static uint64_t gpu_memory_address(struct hwloc_obj *node)
{
    const char *address = is_gpu_memory(node) ? hwloc_obj_get_info_by_name(node, "PCIBusID") : NULL;
    return address == NULL ? PCI_NONE : pci_parse(address);
}

static void add_devices(struct walk *walk)
{
    uint64_t addresses[256];
    size_t count = 0;
    for (struct hwloc_obj *obj = NULL; (obj = next_of(walk, HWLOC_OBJ_NUMANODE, obj)) != NULL;)
        if (count < 256 && gpu_memory_address(obj) != PCI_NONE)
            addresses[count++] = gpu_memory_address(obj);
    if (!copy_devices(walk)) {
        walk->draft->out_of_memory = true;
        return;
    }
    iodev_add_places(&walk->devices, addresses, count, walk->draft);
    for (struct hwloc_obj *obj = NULL; (obj = next_of(walk, HWLOC_OBJ_NUMANODE, obj)) != NULL;) {
        uint64_t address = gpu_memory_address(obj);
        place_id numa = draft_numbered(walk->draft, PLACE_NUMA, (int32_t)obj->os_index);
        place_id gpu = graph_next(walk->draft->graph, PLACE_GPU, 0);
        while (gpu != PLACE_NONE && draft_extra(walk->draft, gpu)->pci != address)
            gpu = graph_next(walk->draft->graph, PLACE_GPU, gpu + 1);
        if (address == PCI_NONE || gpu == PLACE_NONE || numa == PLACE_NONE)
            continue;
        draft_detail(walk->draft, numa, "gpu_pci", "%s", draft_place(walk->draft, gpu)->pci);
        if (draft_place(walk->draft, gpu)->capacity_bytes < 0)
            draft_report_memory(walk->draft, gpu, draft_place(walk->draft, numa)->capacity_bytes,
                                DRAFT_HWLOC);
        draft_link(walk->draft, numa, gpu, LINK_MEMBUS, 0, (double)NAN, LINK_UP, DRAFT_HWLOC);
    }
}

static place_id place_of(void *arg, struct hwloc_obj *obj)
{
    struct walk *walk = arg;
    if (obj->type == HWLOC_OBJ_NUMANODE)
        return draft_numbered(walk->draft, PLACE_NUMA, (int32_t)obj->os_index);
    if (obj->type == HWLOC_OBJ_PACKAGE)
        return package_above(walk, obj);
    return iodev_place_of(&walk->devices, obj->gp_index);
}

static enum berth_code discover(const struct backend_input *input, struct draft *draft,
                                struct berth_err *err)
{
    if (!input->live && input->xml == NULL)
        return BERTH_ABSENT;
    struct walk walk = {.draft = draft};
    enum berth_code code =
        backend_hwloc_load(input->xml, input->xml_name, input->io, &walk.topology, err);
    if (code != BERTH_OK)
        return code;
    memset(&walk.allowed, 0xff, sizeof walk.allowed);
    walk.allowed = to_cpuset(&walk, hwloc_topology_get_allowed_cpuset(walk.topology));
    add_machine(&walk);
    add_packages(&walk);
    add_numas(&walk);
    add_memoryless_numas(&walk);
    compare_memory(&walk);
    code = add_cores_and_pus(&walk, err);
    if (code == BERTH_OK) {
        add_devices(&walk);
        backend_hwloc_values(walk.topology, &walk.allowed, draft, place_of, &walk);
    }
    iodev_done(&walk.devices);
    hwloc_topology_destroy(walk.topology);
    return code;
}

const struct backend backend_hwloc = {.name = "hwloc", .discover = discover};
