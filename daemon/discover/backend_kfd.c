/* AMD gpus from the driver's sysfs tree: the only source for the number of xGMI links between two
 * of them. */
#include "discover/backend.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "discover/kfd_tree.h"

/* gfx90a: two dies on a card, joined by four links; no other pair has four */
#define GFX_MI200  90010
#define CARD_LINKS 4

struct kfd_view {
    const struct kfd_tree *tree;
    struct draft *draft;
    place_id *places; /* for each node of the tree: a gpu, or a numa; PLACE_NONE */
};

static bool is_gpu(const struct kfd_node *node) { return node->simd_count > 0; }

static uint64_t pci_of(const struct kfd_node *node)
{
    return (node->domain & UINT32_MAX) << 16 | (node->location & 0xffff);
}

static place_id place_of(const struct kfd_view *view, const struct kfd_node *node)
{
    return view->places[node - view->tree->nodes];
}

/* Nodes of one bus and device number that differ in the function are partitions of one device. */
static bool is_partition_of(const struct kfd_node *a, const struct kfd_node *b)
{
    return is_gpu(a) && is_gpu(b) && pci_of(a) >> 3 == pci_of(b) >> 3 && pci_of(a) != pci_of(b);
}

static bool is_partition(const struct kfd_tree *tree, const struct kfd_node *node)
{
    for (size_t i = 0; i < tree->count; i++)
        if (is_partition_of(node, &tree->nodes[i]))
            return true;
    return false;
}

static void check_counts(const struct kfd_view *view)
{
    for (int list = 0; list < 3; list++) {
        size_t liars = 0;
        const struct kfd_node *first = NULL;
        for (size_t i = 0; i < view->tree->count; i++) {
            const struct kfd_node *node = &view->tree->nodes[i];
            if (node->counted[list] == node->present[list])
                continue;
            first = first == NULL ? node : first;
            liars++;
        }
        if (liars > 0)
            draft_disagree(
                view->draft,
                "kfd counts %" PRIu64
                " %s on node %d and shows %zu (%zu nodes like that); kept is what is there.",
                first->counted[list], kfd_lists[list], first->number, first->present[list], liars);
    }
}

static void check_addresses(const struct kfd_view *view)
{
    for (size_t i = 0; i < view->tree->count; i++)
        for (size_t j = i + 1; j < view->tree->count; j++) {
            const struct kfd_node *a = &view->tree->nodes[i], *b = &view->tree->nodes[j];
            char address[24];
            if (!is_gpu(a) || !is_gpu(b) || pci_of(a) != pci_of(b))
                continue;
            pci_format(pci_of(a), address);
            draft_disagree(view->draft,
                           "kfd gives nodes %d and %d the same PCI address %s; both are kept.",
                           a->number, b->number, address);
        }
}

/* Matches the nodes with cpus: NUMA nodes and kfd's nodes are in the same order. */
static void match_cpus(const struct kfd_view *view)
{
    struct draft *draft = view->draft;
    size_t theirs = 0, ours = 0, index = 0;
    bool have_numas = graph_next(draft->graph, PLACE_NUMA, 0) != PLACE_NONE;
    for (size_t i = 0; i < view->tree->count; i++)
        theirs += view->tree->nodes[i].cpu_count > 0 && !is_gpu(&view->tree->nodes[i]);
    for (size_t i = 0; i < draft->graph->place_count; i++)
        ours += draft->graph->places[i].kind == PLACE_NUMA && draft->graph->places[i].cpus != NULL;
    if (have_numas && ours != theirs) {
        draft_disagree(draft,
                       "kfd has %zu nodes with cpus and hwloc %zu; kept is what hwloc says, "
                       "without kfd's links to them.",
                       theirs, ours);
        return;
    }
    int32_t last = -1;
    for (size_t i = 0; i < view->tree->count; i++) {
        const struct kfd_node *node = &view->tree->nodes[i];
        if (node->cpu_count == 0 || is_gpu(node))
            continue;
        place_id numa = PLACE_NONE;
        if (!have_numas) {
            numa = draft_add(draft, PLACE_NUMA, (int32_t)index++, DRAFT_KFD);
            draft_detail(draft, numa, "cpu_count", "%" PRIu64, node->cpu_count);
        }
        /* the next higher number */
        for (size_t k = 0; have_numas && k < draft->graph->place_count; k++) {
            const struct place *place = &draft->graph->places[k];
            if (place->kind == PLACE_NUMA && place->cpus != NULL && place->number > last &&
                (numa == PLACE_NONE || place->number < draft_place(draft, numa)->number))
                numa = (place_id)k;
        }
        last = draft_place(draft, numa)->number;
        view->places[i] = numa;
        draft_report_memory(draft, numa, node->memory_bytes, DRAFT_KFD);
        const struct cpuset *cpus = draft_place(draft, numa)->cpus;
        if (cpus != NULL && cpuset_count(cpus) != node->cpu_count)
            draft_disagree(draft,
                           "kfd counts %" PRIu64
                           " cpus on node %d, hwloc %zu on numa%d; kept is what hwloc says.",
                           node->cpu_count, node->number, cpuset_count(cpus), last);
    }
}

/* Writes a unique id in the form of RSMI and ROCR. */
static void uuid_of(const struct kfd_node *node, char buffer[32])
{
    snprintf(buffer, 32, "GPU-%016" PRIx64, node->unique);
}

enum match { MATCH_PCI, MATCH_DEVICE, MATCH_UUID, MATCH_ORDER, MATCH_COUNT };

static bool matches(struct draft *draft, place_id gpu, const struct kfd_node *node,
                    enum match criterion)
{
    const struct place *place = draft_place(draft, gpu);
    const char *vendor = place_detail(place, "vendor");
    char uuid[32];
    uuid_of(node, uuid);
    if (draft_extra(draft, gpu)->kfd_node >= 0 || (vendor != NULL && strcmp(vendor, "amd") != 0))
        return false;
    switch (criterion) {
    case MATCH_PCI:
        return draft_extra(draft, gpu)->pci == pci_of(node);
    case MATCH_DEVICE: /* hwloc shows all partitions at the device's first function */
        return draft_extra(draft, gpu)->pci >> 3 == pci_of(node) >> 3;
    case MATCH_UUID:
        return node->unique != 0 && place->uuid != NULL && strcmp(place->uuid, uuid) == 0;
    case MATCH_ORDER:
        return place->pci == NULL;
    case MATCH_COUNT:
        break;
    }
    return false;
}

static void match_gpus(const struct kfd_view *view)
{
    struct draft *draft = view->draft;
    size_t shown = 0, unmatched = 0, added = 0;
    for (place_id gpu = graph_next(draft->graph, PLACE_GPU, 0); gpu != PLACE_NONE;
         gpu = graph_next(draft->graph, PLACE_GPU, gpu + 1)) {
        const char *vendor = place_detail(draft_place(draft, gpu), "vendor");
        shown += vendor != NULL && strcmp(vendor, "amd") == 0;
    }
    for (int criterion = MATCH_PCI; criterion < MATCH_COUNT; criterion++)
        for (size_t i = 0; i < view->tree->count; i++) {
            const struct kfd_node *node = &view->tree->nodes[i];
            if (!is_gpu(node) || view->places[i] != PLACE_NONE)
                continue;
            place_id gpu = graph_next(draft->graph, PLACE_GPU, 0);
            while (gpu != PLACE_NONE && !matches(draft, gpu, node, (enum match)criterion))
                gpu = graph_next(draft->graph, PLACE_GPU, gpu + 1);
            if (gpu == PLACE_NONE)
                continue;
            char label[64];
            if (criterion >= MATCH_UUID)
                draft_disagree(draft,
                               "kfd and hwloc place a gpu differently; %s is taken for kfd's node "
                               "%d by its %s.",
                               draft_label(draft, gpu, label), node->number,
                               criterion == MATCH_UUID ? "uuid" : "order");
            view->places[i] = gpu;
            draft_extra(draft, gpu)->kfd_node = node->number;
        }
    for (size_t i = 0; i < view->tree->count; i++) {
        if (!is_gpu(&view->tree->nodes[i]) || view->places[i] != PLACE_NONE)
            continue;
        view->places[i] = draft_add(draft, PLACE_GPU, 0, DRAFT_KFD);
        draft_extra(draft, view->places[i])->kfd_node = view->tree->nodes[i].number;
        draft_detail(draft, view->places[i], "vendor", "amd");
        added++;
    }
    for (place_id gpu = graph_next(draft->graph, PLACE_GPU, 0); gpu != PLACE_NONE;
         gpu = graph_next(draft->graph, PLACE_GPU, gpu + 1)) {
        const char *vendor = place_detail(draft_place(draft, gpu), "vendor");
        unmatched +=
            vendor != NULL && strcmp(vendor, "amd") == 0 && draft_extra(draft, gpu)->kfd_node < 0;
    }
    if (shown > 0 && (added > 0 || unmatched > 0))
        draft_disagree(draft,
                       "hwloc shows %zu AMD gpus, kfd %zu; kept are all, %zu known to kfd alone "
                       "and %zu to hwloc alone.",
                       shown, shown - unmatched + added, added, unmatched);
}

/* Returns the name in the PCI id database, for nodes without a library that gives a better one. */
static const char *device_name(uint64_t device_id)
{
    static const struct {
        uint64_t id;
        const char *name;
    } names[] = {{0x6860, "Radeon Instinct MI25"},  {0x66a1, "Radeon Instinct MI60/MI50"},
                 {0x738c, "Instinct MI100"},        {0x7408, "Instinct MI250X"},
                 {0x740c, "Instinct MI250X/MI250"}, {0x740f, "Instinct MI210"},
                 {0x74a0, "Instinct MI300A"},       {0x74a1, "Instinct MI300X"},
                 {0x74a5, "Instinct MI325X"},       {0x75a0, "Instinct MI350X"},
                 {0x75a3, "Instinct MI355X"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].id == device_id)
            return names[i].name;
    return NULL;
}

static void describe_gpu(const struct kfd_view *view, const struct kfd_node *node)
{
    struct draft *draft = view->draft;
    place_id gpu = place_of(view, node);
    struct place *place = draft_place(draft, gpu);
    draft_pci(draft, gpu, pci_of(node));
    draft_report_memory(draft, gpu, node->memory_bytes, DRAFT_KFD);
    draft_detail(draft, gpu, "kfd_node", "%d", node->number);
    if (place->model == NULL)
        draft_report_model(draft, gpu, device_name(node->device_id), DRAFT_KFD);
    if (node->unique != 0) {
        char uuid[32];
        uuid_of(node, uuid);
        if (place->uuid != NULL && strcmp(place->uuid, uuid) != 0)
            draft_disagree(draft, "hwloc calls the gpu at %s %s, kfd %s; kept is what kfd says.",
                           place->pci, place->uuid, uuid);
        draft_text(draft, &place->uuid, uuid);
    }
    if (node->gpu_id != 0)
        draft_detail(draft, gpu, "gpu_id", "%" PRIu64, node->gpu_id);
    /* 90010 is gfx90a: major, minor and stepping in decimal pairs, written in hexadecimal digits */
    if (node->gfx_version != 0)
        draft_detail(draft, gpu, "gfx", "gfx%" PRIu64 "%" PRIx64 "%" PRIx64,
                     node->gfx_version / 10000, node->gfx_version / 100 % 100,
                     node->gfx_version % 100);
    if (node->name[0] != '\0')
        draft_detail(draft, gpu, "chip", "%s", node->name);
    if (node->hive != 0)
        draft_detail(draft, gpu, "hive", "%" PRIx64, node->hive);
    if (node->simd_per_cu != 0)
        draft_detail(draft, gpu, "compute_units", "%" PRIu64, node->simd_count / node->simd_per_cu);
    if (node->xcc_count > 1)
        draft_detail(draft, gpu, "xccs", "%" PRIu64, node->xcc_count);
    if (node->peer_count > 0)
        draft_detail(draft, gpu, "pcie_peers", "%zu", node->peer_count);
    if (node->render_minor > 0 && node->render_minor < 4096) {
        char path[40];
        place->minor = (int32_t)node->render_minor;
        snprintf(path, sizeof path, "/dev/dri/renderD%" PRIu64, node->render_minor);
        draft_text(draft, &place->render_node, path);
    }
    if (is_partition(view->tree, node))
        draft_detail(draft, gpu, "partition", "%" PRIu64, pci_of(node) & 7);
}

static int32_t width_of(const struct kfd_link *link)
{
    uint64_t one = link->min_megabytes_per_s, all = link->max_megabytes_per_s;
    return one > 0 && all % one == 0 && all / one < 1000 ? (int32_t)(all / one) : 0;
}

static double speed_of(const struct kfd_link *link)
{
    return link->max_megabytes_per_s > 0 ? (double)link->max_megabytes_per_s * 1e6 : (double)NAN;
}

/* Partitions of a device and dies of a card are one module. Before links, some of which are the
 * module's. */
static void join_modules(const struct kfd_view *view)
{
    for (size_t i = 0; i < view->tree->count; i++) {
        const struct kfd_node *first = &view->tree->nodes[i];
        place_id parts[16] = {view->places[i]};
        size_t count = 1;
        for (size_t j = i + 1; j < view->tree->count && count < 16; j++) {
            const struct kfd_node *other = &view->tree->nodes[j];
            bool joined = is_partition_of(first, other);
            for (size_t k = 0; k < first->link_count && first->gfx_version == GFX_MI200; k++) {
                const struct kfd_link *link = &first->links[k];
                joined =
                    joined || (is_gpu(first) && is_gpu(other) && link->type == KFD_LINK_XGMI &&
                               link->to == (uint64_t)other->number &&
                               link->weight == KFD_WEIGHT_XGMI_HOP && width_of(link) == CARD_LINKS);
            }
            if (joined)
                parts[count++] = view->places[j];
        }
        draft_module(view->draft, parts, count, DRAFT_KFD);
    }
}

/* Returns the place of a node's links to other devices: for a partition its module. */
static place_id outside(const struct kfd_view *view, const struct kfd_node *node)
{
    place_id place = place_of(view, node);
    return is_partition(view->tree, node) ? draft_place(view->draft, place)->parent : place;
}

static void link_gpus(const struct kfd_view *view, const struct kfd_node *from,
                      const struct kfd_node *to, const struct kfd_link *link)
{
    if (link->type != KFD_LINK_XGMI) /* PCIe between gpus is a path over the host, not a link */
        return;
    if (link->weight == KFD_WEIGHT_XGMI_HOP)
        draft_link(view->draft, outside(view, from), outside(view, to), LINK_XGMI, width_of(link),
                   speed_of(link), LINK_UP, DRAFT_KFD);
    else if (link->weight == KFD_WEIGHT_PARTITION_TO_PARTITION)
        draft_link(view->draft, outside(view, from), outside(view, to), LINK_XGMI, 0, (double)NAN,
                   LINK_UP, DRAFT_KFD);
    else if (link->weight ==
             KFD_WEIGHT_SAME_DEVICE) /* inside the device every partition reaches all of it */
        draft_link(view->draft, place_of(view, from), outside(view, from), LINK_XGMI,
                   width_of(link), speed_of(link), LINK_UP, DRAFT_KFD);
}

static void link_host(const struct kfd_view *view, const struct kfd_node *gpu,
                      const struct kfd_node *cpu, const struct kfd_link *link)
{
    place_id numa = place_of(view, cpu);
    draft_extra(view->draft, place_of(view, gpu))->reported_numa = numa;
    /* an APU: its memory is the cores', with the driver's constant as rate */
    if (link->type == KFD_LINK_XGMI && link->weight == KFD_WEIGHT_SAME_DEVICE)
        draft_link(view->draft, outside(view, gpu), numa, LINK_MEMBUS, 0, speed_of(link), LINK_UP,
                   DRAFT_KFD);
    else if (link->type == KFD_LINK_XGMI)
        draft_link(view->draft, outside(view, gpu), numa, LINK_XGMI, width_of(link), speed_of(link),
                   LINK_UP, DRAFT_KFD);
    else if (link->type ==
             KFD_LINK_PCIE) /* min is the slowest PCIe version, not one lane of this link */
        draft_link(view->draft, outside(view, gpu), numa, LINK_PCIE, 0, speed_of(link), LINK_UP,
                   DRAFT_KFD);
}

static place_id package_of(struct draft *draft, place_id numa)
{
    const struct cpuset *cpus = draft_place(draft, numa)->cpus;
    place_id id = cpus == NULL ? PLACE_NONE : graph_next(draft->graph, PLACE_PACKAGE, 0);
    while (id != PLACE_NONE && !cpuset_contains(draft_place(draft, id)->cpus, cpus))
        id = graph_next(draft->graph, PLACE_PACKAGE, id + 1);
    return id;
}

static void link_cpus(const struct kfd_view *view, const struct kfd_node *from,
                      const struct kfd_node *to, const struct kfd_link *link)
{
    struct draft *draft = view->draft;
    place_id a = place_of(view, from), b = place_of(view, to);
    /* kfd is the only source */
    bool is_alone = graph_next(draft->graph, PLACE_PACKAGE, 0) == PLACE_NONE;
    if (is_alone && a != PLACE_NONE && b != PLACE_NONE) {
        /* the driver copies the firmware's distance */
        draft_value(draft, METRIC_NUMA_DISTANCE, a, b, "", (double)link->weight);
        draft_value(draft, METRIC_NUMA_DISTANCE, a, a, "", 10);
        draft_link(draft, a, b, LINK_SMP, 0, speed_of(link), LINK_UP, DRAFT_KFD);
    } else {
        draft_link(draft, package_of(draft, a), package_of(draft, b), LINK_SMP, 0, speed_of(link),
                   LINK_UP, DRAFT_KFD);
    }
}

static void add_links(const struct kfd_view *view)
{
    for (size_t i = 0; i < view->tree->count; i++)
        for (size_t k = 0; k < view->tree->nodes[i].link_count; k++) {
            const struct kfd_node *from = &view->tree->nodes[i];
            const struct kfd_link *link = &from->links[k];
            const struct kfd_node *to = kfd_find(view->tree, link->to);
            if (link->from != (uint64_t)from->number || to == NULL || to == from)
                draft_disagree(view->draft,
                               "kfd has a link at node %d from node %" PRId64 " to node %" PRId64
                               "; it is left out.",
                               from->number, (int64_t)link->from, (int64_t)link->to);
            else if (is_gpu(from) && is_gpu(to))
                link_gpus(view, from, to, link);
            else if (is_gpu(from))
                link_host(view, from, to, link);
            else if (is_gpu(to))
                link_host(view, to, from, link);
            else
                link_cpus(view, from, to, link);
        }
}

static enum berth_code discover(const struct backend_input *input, struct draft *draft,
                                struct berth_err *err)
{
    struct kfd_tree tree;
    if (input->kfd == NULL || input->io == NULL)
        return BERTH_ABSENT;
    enum berth_code code = kfd_read(input->io, input->kfd, &tree, err);
    if (code != BERTH_OK)
        return code;
    struct kfd_view view = {
        .tree = &tree, .draft = draft, .places = malloc(tree.count * sizeof *view.places)};
    if (view.places == NULL) {
        kfd_done(&tree);
        return err_set(err, BERTH_NO_MEMORY, "no memory for kfd nodes");
    }
    for (size_t i = 0; i < tree.count; i++)
        view.places[i] = PLACE_NONE;
    check_counts(&view);
    check_addresses(&view);
    match_cpus(&view);
    match_gpus(&view);
    for (size_t i = 0; i < tree.count; i++)
        if (is_gpu(&tree.nodes[i]))
            describe_gpu(&view, &tree.nodes[i]);
    join_modules(&view);
    add_links(&view);
    free(view.places);
    kfd_done(&tree);
    return BERTH_OK;
}

const struct backend backend_kfd = {.name = "kfd", .discover = discover};
