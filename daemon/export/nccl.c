/* Export of the node as a topology file of NCCL or RCCL (XML). */
#include "export/formats.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "export/text.h"
#include "node/pci.h"

#define VALUE_MAX    250 /* bytes: the parsers take values of 254 */
#define SWITCH_CLASS 0x0680
/* Address of an NVSwitch that the driver hides; the parser reads only the class. */
#define SWITCH_UNKNOWN "fffffff:ffff:ff"

/* A PCI device or switch on the path from a NUMA node to a gpu or nic. */
struct device {
    uint64_t pci, parent; /* PCI_NONE: none */
    place_id place;       /* gpu or nic; PLACE_NONE: a switch */
    place_id numa;        /* PLACE_NONE unknown */
};

struct tree {
    const struct export_input *input;
    const struct graph *graph;
    const char *vendor;
    bool is_rccl;
    struct device *device;
    size_t count;
    bool failed;
};

static const char *vendor_of(const struct place *gpu)
{
    const char *vendor = place_detail(gpu, "vendor");
    return vendor != NULL ? vendor : "";
}

static bool has_device(const struct tree *tree, uint64_t pci)
{
    for (size_t i = 0; i < tree->count; i++)
        if (tree->device[i].pci == pci)
            return true;
    return false;
}

static const struct hwloc_view_pci *view_of(const struct tree *tree, uint64_t pci)
{
    return tree->input->view != NULL ? hwloc_view_find(tree->input->view, pci) : NULL;
}

/* Adds a device with the switches above it. */
static void add_device(struct tree *tree, uint64_t pci, place_id place, place_id numa)
{
    const struct hwloc_view_pci *view = view_of(tree, pci);
    uint64_t parent = view != NULL ? view->parent : PCI_NONE;
    if (pci == PCI_NONE || has_device(tree, pci))
        return;
    if (parent != PCI_NONE)
        add_device(tree, parent, PLACE_NONE, numa);
    if (!grow_by_one(&tree->device, tree->count, sizeof *tree->device)) {
        tree->failed = true;
        return;
    }
    tree->device[tree->count++] = (struct device){pci, parent, place, numa};
}

static uint64_t address_of(const struct place *place)
{
    return place->pci == NULL ? PCI_NONE : pci_parse(place->pci);
}

static void add_devices(struct tree *tree)
{
    const struct graph *graph = tree->graph;
    for (place_id id = 0; (size_t)id < graph->place_count; id++) {
        const struct place *place = &graph->places[id];
        if ((place->kind == PLACE_GPU && strcmp(vendor_of(place), tree->vendor) == 0) ||
            place->kind == PLACE_NIC)
            add_device(tree, address_of(place), id, place->numa);
    }
}

/* Writes groups of eight digits, the highest first, in the form of the kernel's cpumap; "" where it
 * exceeds the room of the parsers. */
static void format_affinity(const struct cpuset *cpus, char *buffer, size_t size)
{
    int group = CPUSET_MAX / 32 - 1;
    size_t used = 0;
    while (group > 0 && (uint32_t)(cpus->word[group / 2] >> (group % 2 * 32)) == 0)
        group--;
    buffer[0] = '\0';
    for (; group >= 0 && used < size; group--)
        used += (size_t)snprintf(buffer + used, size - used, "%08" PRIx32 "%s",
                                 (uint32_t)(cpus->word[group / 2] >> (group % 2 * 32)),
                                 group > 0 ? "," : "");
    if (used > VALUE_MAX)
        buffer[0] = '\0';
}

static void put_indent(struct print *text, int depth) { export_text(text, "%*s", 2 * depth, ""); }

/* Writes the PCIe generation and width that a gpu's driver reports for its slot. */
static void put_slot(struct print *text, const struct place *gpu)
{
    static const char *const speeds[] = {"2.5 GT/s PCIe",  "5.0 GT/s PCIe",  "8.0 GT/s PCIe",
                                         "16.0 GT/s PCIe", "32.0 GT/s PCIe", "64.0 GT/s PCIe"};
    const char *generation = place_detail(gpu, "pcie_generation_max"),
               *width = place_detail(gpu, "pcie_width_max");
    long g = generation != NULL ? strtol(generation, NULL, 10) : 0,
         w = width != NULL ? strtol(width, NULL, 10) : 0;
    if (g >= 1 && g <= 6)
        export_text(text, " link_speed=\"%s\"", speeds[g - 1]);
    if (w >= 1 && w <= 32)
        export_text(text, " link_width=\"%ld\"", w);
}

static void put_pci_attributes(const struct tree *tree, const struct device *device,
                               struct print *text)
{
    const struct hwloc_view_pci *view = view_of(tree, device->pci);
    char address[24];
    pci_format(device->pci, address);
    export_text(text, "<pci busid=\"%s\"", address);
    if (view != NULL && view->class_id != 0)
        export_text(text, " class=\"0x%04x00\"", view->class_id);
    if (view != NULL && view->vendor != 0)
        export_text(text, " vendor=\"0x%04x\" device=\"0x%04x\"", view->vendor, view->device);
    if (view != NULL && view->subvendor != 0)
        export_text(text, " subsystem_vendor=\"0x%04x\" subsystem_device=\"0x%04x\"",
                    view->subvendor, view->subdevice);
    if (device->place != PLACE_NONE && tree->graph->places[device->place].kind == PLACE_GPU)
        put_slot(text, &tree->graph->places[device->place]);
}

/* Writes a link; tclass is the class of the device at its other end where hwloc shows it. */
static void put_link(const struct tree *tree, const struct link *link, place_id to, int depth,
                     struct print *text)
{
    const struct place *other = &tree->graph->places[to];
    const struct hwloc_view_pci *view = view_of(tree, address_of(other));
    bool is_switch = other->kind == PLACE_SWITCH;
    unsigned class_id = is_switch ? SWITCH_CLASS : view != NULL ? view->class_id : 0;
    put_indent(text, depth);
    export_text(text, "<%s target=\"", tree->is_rccl ? "xgmi" : "nvlink");
    export_text_xml(text, other->pci != NULL ? other->pci : SWITCH_UNKNOWN);
    export_text(text, "\" count=\"%" PRId32 "\"", link->width);
    if (class_id != 0)
        export_text(text, " tclass=\"0x%04x00\"", class_id);
    export_text(text, "/>\n");
}

/* Writes rates as comments beside the links, for people: the format has no attribute for them. */
static void put_rates(const struct tree *tree, place_id gpu, int depth, struct print *text)
{
    for (place_id to = graph_next(tree->graph, PLACE_GPU, 0); to != PLACE_NONE;
         to = graph_next(tree->graph, PLACE_GPU, to + 1)) {
        const struct value *rate = to == gpu ? NULL : export_text_rate(tree->input->snap, gpu, to);
        if (rate == NULL)
            continue;
        put_indent(text, depth);
        export_text(text, "<!-- to %s %.1f GB/s, %s -->\n", tree->graph->places[to].name,
                    rate->value / 1e9, value_source_name(rate->source));
    }
}

static bool is_peer_link(const struct tree *tree, const struct link *link, place_id to)
{
    const struct place *other = &tree->graph->places[to];
    enum link_kind kind = tree->is_rccl ? LINK_XGMI : LINK_NVLINK;
    return link->kind == kind && link->width > 0 && link->state != LINK_DOWN &&
           ((other->kind == PLACE_GPU && other->pci != NULL) ||
            (!tree->is_rccl && other->kind == PLACE_SWITCH));
}

static void put_gpu(const struct tree *tree, place_id gpu, int depth, struct print *text)
{
    const struct graph *graph = tree->graph;
    const struct place *place = &graph->places[gpu];
    const char *capability = place_detail(place, "compute_capability");
    int major, minor;
    put_indent(text, depth);
    export_text(text, "<!-- %s, ", place->name);
    export_text_comment(text, place->model != NULL ? place->model : "model unknown");
    export_text(text, " -->\n");
    put_indent(text, depth);
    export_text(text, "<gpu");
    if (!tree->is_rccl && capability != NULL && sscanf(capability, "%2d.%1d", &major, &minor) == 2)
        export_text(text, " sm=\"%d\"", 10 * major + minor);
    export_text(text, ">\n");
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        place_id to = link->from == gpu ? link->to : link->to == gpu ? link->from : PLACE_NONE;
        if (to == PLACE_NONE)
            continue;
        if (is_peer_link(tree, link, to))
            put_link(tree, link, to, depth + 1, text);
        if (!tree->is_rccl && link->kind == LINK_C2C && link->width > 0 &&
            link->state != LINK_DOWN && isfinite(link->nominal_bytes_per_s)) {
            put_indent(text, depth + 1);
            export_text(text, "<c2c bw=\"%.0f\" count=\"%" PRId32 "\"/>\n",
                        link->nominal_bytes_per_s / 1e6 / link->width, link->width);
        }
    }
    put_rates(tree, gpu, depth + 1, text);
    put_indent(text, depth);
    export_text(text, "</gpu>\n");
}

/* Writes a nic without its net. The library keeps the file's values of a net that it finds by name,
 * and would skip the look-up of its slot. */
static void put_nic(int depth, struct print *text)
{
    put_indent(text, depth);
    export_text(text, "<nic/>\n");
}

/* Writes the devices below a switch, or below a NUMA node where parent is PCI_NONE. */
static void put_devices(const struct tree *tree, uint64_t parent, place_id numa, int depth,
                        struct print *text)
{
    for (size_t i = 0; i < tree->count; i++) {
        const struct device *device = &tree->device[i];
        if (device->parent != parent || (parent == PCI_NONE && device->numa != numa))
            continue;
        put_indent(text, depth);
        put_pci_attributes(tree, device, text);
        export_text(text, ">\n");
        if (device->place == PLACE_NONE)
            put_devices(tree, device->pci, numa, depth + 1, text);
        else if (tree->graph->places[device->place].kind == PLACE_GPU)
            put_gpu(tree, device->place, depth + 1, text);
        else
            put_nic(depth + 1, text);
        put_indent(text, depth);
        export_text(text, "</pci>\n");
    }
}

/* Writes the CPUID family and model: the library does not look up a NUMA node that gets a virtual
 * network device. It expects the family in CPUID's encoding, base and 16 times the extension. */
static void put_cpuid(const struct hwloc_view *view, struct print *text)
{
    if (view == NULL || view->vendor[0] == '\0' || view->family < 0 || view->model < 0)
        return;
    export_text(text, " vendor=\"");
    export_text_xml(text, view->vendor);
    export_text(text, "\" familyid=\"%d\" modelid=\"%d\"",
                view->family < 15 ? view->family : 15 + 16 * (view->family - 15), view->model);
}

static void put_cpu(const struct tree *tree, place_id numa, struct print *text)
{
    const struct graph *graph = tree->graph;
    const char *architecture = place_detail(&graph->places[0], "architecture");
    export_text(text, "  <cpu numaid=\"%" PRId32 "\"",
                numa == PLACE_NONE ? -1 : graph->places[numa].number);
    if (numa != PLACE_NONE && graph->places[numa].cpus != NULL &&
        !cpuset_is_empty(graph->places[numa].cpus)) {
        char affinity[CPUSET_MAX / 32 * 9 + 1];
        format_affinity(graph->places[numa].cpus, affinity, sizeof affinity);
        if (affinity[0] != '\0')
            export_text(text, " affinity=\"%s\"", affinity);
    }
    if (architecture != NULL && architecture[0] != '\0' && strlen(architecture) < 32) {
        export_text(text, " arch=\"");
        export_text_xml(text, strcmp(architecture, "aarch64") == 0     ? "arm64"
                              : strncmp(architecture, "ppc64", 5) == 0 ? "ppc64"
                                                                       : architecture);
        export_text(text, "\"");
        put_cpuid(tree->input->view, text);
    }
    export_text(text, ">\n");
    put_devices(tree, PCI_NONE, numa, 2, text);
    export_text(text, "  </cpu>\n");
}

static bool has_devices(const struct tree *tree, place_id numa)
{
    for (size_t i = 0; i < tree->count; i++)
        if (tree->device[i].parent == PCI_NONE && tree->device[i].numa == numa)
            return true;
    return false;
}

enum berth_code export_nccl(const struct export_input *input, bool is_rccl, struct print *text,
                            struct berth_err *err)
{
    const struct graph *graph = input->snap->graph;
    struct tree tree = {
        .input = input, .graph = graph, .vendor = is_rccl ? "amd" : "nvidia", .is_rccl = is_rccl};
    size_t ours = 0, gpus = graph_count(graph, PLACE_GPU);
    for (place_id gpu = graph_next(graph, PLACE_GPU, 0); gpu != PLACE_NONE;
         gpu = graph_next(graph, PLACE_GPU, gpu + 1))
        ours += strcmp(vendor_of(&graph->places[gpu]), tree.vendor) == 0;
    if (gpus > 0 && ours == 0) {
        err_invalid(
            err, "format",
            "%s is for %s gpus, and those of this node are not; berth export %s is the other one",
            is_rccl ? "rccl" : "nccl", is_rccl ? "AMD's" : "NVIDIA's", is_rccl ? "nccl" : "rccl");
        return err->code;
    }
    add_devices(&tree);
    export_text_head(text, input->snap, "<!-- ", " -->");
    export_text(text, "<system version=\"%d\">\n", is_rccl ? 2 : 1);
    for (place_id numa = graph_next(graph, PLACE_NUMA, 0); numa != PLACE_NONE;
         numa = graph_next(graph, PLACE_NUMA, numa + 1)) {
        bool is_host =
            graph->places[numa].cpus != NULL && !cpuset_is_empty(graph->places[numa].cpus);
        if (is_host || has_devices(&tree, numa))
            put_cpu(&tree, numa, text);
    }
    if (has_devices(&tree, PLACE_NONE))
        put_cpu(&tree, PLACE_NONE, text);
    export_text(text, "</system>\n");
    free(tree.device);
    return tree.failed ? err_set(err, BERTH_NO_MEMORY, "no memory for the export") : BERTH_OK;
}
