/* Last step of a discovery: makes the constant graph and its values from a draft of all backends.
 */
#include "discover/draft.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/engine_limit.h"
#include "node/gpu.h"
#include "node/pci.h"

/* Largest number of sockets that count as joined pairwise when hwloc reports no socket links. */
#define PACKAGES_ALL_JOINED 4

static bool holds(const struct place *outer, const struct cpuset *inner)
{
    int first = cpuset_next(inner, 0);
    return outer->cpus != NULL && first >= 0 && cpuset_has(outer->cpus, (unsigned)first) &&
           cpuset_contains(outer->cpus, inner);
}

/* Returns the first place of a kind that contains all these cpus. */
static place_id holder(struct draft *draft, enum place_kind kind, const struct cpuset *cpus)
{
    if (cpus == NULL)
        return PLACE_NONE;
    place_id id = graph_next(draft->graph, kind, 0);
    while (id != PLACE_NONE && !holds(draft_place(draft, id), cpus))
        id = graph_next(draft->graph, kind, id + 1);
    return id;
}

/* Returns the only NUMA node whose own cpus overlap these cpus; PLACE_NONE when there are several
 * or none. */
static place_id nearest_numa(struct draft *draft, const struct cpuset *cpus)
{
    place_id found = PLACE_NONE;
    if (cpus == NULL)
        return PLACE_NONE;
    for (place_id id = graph_next(draft->graph, PLACE_NUMA, 0); id != PLACE_NONE;
         id = graph_next(draft->graph, PLACE_NUMA, id + 1)) {
        const struct place *numa = draft_place(draft, id);
        if (numa->cpus == NULL || !cpuset_intersects(numa->cpus, cpus))
            continue;
        if (found != PLACE_NONE)
            return PLACE_NONE;
        found = id;
    }
    return found;
}

static place_id first_of(place_id a, place_id b, place_id c)
{
    return a != PLACE_NONE ? a : b != PLACE_NONE ? b : c;
}

static void settle_device(struct draft *draft, place_id id)
{
    struct place *place = draft_place(draft, id);
    place_id reported = draft_extra(draft, id)->reported_numa,
             local = nearest_numa(draft, place->cpus);
    if (reported != PLACE_NONE && local != PLACE_NONE && reported != local) {
        char label[64];
        draft_disagree(draft,
                       "hwloc places %s next to %s, kfd links it to %s; kept is what kfd says.",
                       draft_label(draft, id, label), draft_place(draft, local)->name,
                       draft_place(draft, reported)->name);
    }
    place->numa = reported != PLACE_NONE ? reported : local;
    if (place->parent == PLACE_NONE)
        place->parent = first_of(place->numa, holder(draft, PLACE_PACKAGE, place->cpus), 0);
}

static void settle_module(struct draft *draft, place_id id)
{
    struct place *module = draft_place(draft, id);
    bool first = true, same = true;
    for (place_id gpu = graph_next(draft->graph, PLACE_GPU, 0); gpu != PLACE_NONE;
         gpu = graph_next(draft->graph, PLACE_GPU, gpu + 1)) {
        const struct place *part = draft_place(draft, gpu);
        if (part->parent != id)
            continue;
        same = same && (first || part->numa == module->numa);
        module->numa = part->numa;
        first = false;
    }
    if (!same)
        module->numa = PLACE_NONE;
    module->parent = first_of(module->numa, 0, 0);
}

/* Sets parents and nearest NUMA nodes from containment. */
static void settle(struct draft *draft)
{
    for (size_t i = 1; i < draft->graph->place_count; i++) {
        place_id id = (place_id)i;
        struct place *place = draft_place(draft, id);
        place_id package =
            place->kind == PLACE_PACKAGE ? PLACE_NONE : holder(draft, PLACE_PACKAGE, place->cpus);
        switch (place->kind) {
        case PLACE_MACHINE:
        case PLACE_KIND_COUNT:
            break;
        case PLACE_PACKAGE:
        case PLACE_SWITCH:
            place->parent = 0;
            break;
        case PLACE_NUMA:
            place->parent = first_of(place->parent, package, 0);
            break;
        case PLACE_LLC:
            place->numa = nearest_numa(draft, place->cpus);
            place->parent = first_of(package, 0, 0);
            break;
        case PLACE_CORE:
            place->numa = nearest_numa(draft, place->cpus);
            place->parent = first_of(holder(draft, PLACE_LLC, place->cpus), place->numa,
                                     first_of(package, 0, 0));
            break;
        case PLACE_PU:
            place->numa = nearest_numa(draft, place->cpus);
            place->parent = first_of(holder(draft, PLACE_CORE, place->cpus), package, 0);
            break;
        case PLACE_GPU:
        case PLACE_NIC:
            settle_device(draft, id);
            break;
        case PLACE_MODULE:
            break; /* later, when all gpus are settled */
        }
    }
    for (place_id id = graph_next(draft->graph, PLACE_MODULE, 0); id != PLACE_NONE;
         id = graph_next(draft->graph, PLACE_MODULE, id + 1))
        settle_module(draft, id);
}

/* Returns the host end of a device's PCIe lanes: its NUMA node or package, or the only package. */
static place_id host_end(struct draft *draft, place_id id)
{
    const struct place *place = draft_place(draft, id);
    place_id package = holder(draft, PLACE_PACKAGE, place->cpus);
    if (package == PLACE_NONE && graph_count(draft->graph, PLACE_PACKAGE) == 1)
        package = graph_next(draft->graph, PLACE_PACKAGE, 0);
    return first_of(place->numa, package, PLACE_NONE);
}

/* True when a link joins the gpu to the host. If that is the host's own fabric (xgmi) or memory,
 * the gpu's PCIe link carries nothing. */
static bool has_host_link(struct draft *draft, place_id id)
{
    for (size_t i = 0; i < draft->graph->link_count; i++) {
        const struct link *link = &draft->graph->links[i];
        place_id other = link->from == id ? link->to : link->to == id ? link->from : PLACE_NONE;
        if (other != PLACE_NONE && draft_place(draft, other)->kind < PLACE_MODULE &&
            (link->kind == LINK_PCIE || link->kind == LINK_XGMI ||
             (link->kind == LINK_MEMBUS && draft_place(draft, other)->cpus != NULL)))
            return true;
    }
    return false;
}

/* Returns the owner of a device's PCIe link. Partitions of one device (same bus and device number)
 * share one, which belongs to their module. */
static place_id link_holder(struct draft *draft, place_id id)
{
    place_id module = draft_place(draft, id)->parent;
    if (draft_place(draft, id)->kind != PLACE_GPU || module == PLACE_NONE ||
        draft_place(draft, module)->kind != PLACE_MODULE)
        return id;
    for (place_id gpu = graph_next(draft->graph, PLACE_GPU, 0); gpu != PLACE_NONE;
         gpu = graph_next(draft->graph, PLACE_GPU, gpu + 1))
        if (gpu != id && draft_place(draft, gpu)->parent == module &&
            draft_extra(draft, gpu)->pci >> 3 == draft_extra(draft, id)->pci >> 3)
            return module;
    return id;
}

static void link_devices(struct draft *draft)
{
    for (size_t i = 0; i < draft->graph->place_count; i++) {
        place_id id = (place_id)i;
        const struct place *place = draft_place(draft, id);
        const struct draft_extra *extra = draft_extra(draft, id);
        if ((place->kind != PLACE_GPU && place->kind != PLACE_NIC) || extra->pci == PCI_NONE)
            continue;
        place_id from = link_holder(draft, id);
        place_id host = host_end(draft, id);
        if (has_host_link(draft, from))
            continue;
        /* the PCIe link of an APU only enumerates the gpu */
        if (from == id && host != PLACE_NONE && gpu_is_apu(place) &&
            draft_place(draft, host)->kind == PLACE_NUMA)
            draft_link(draft, from, host, LINK_MEMBUS, 0, (double)NAN, LINK_UP, extra->source);
        else
            draft_link(draft, from, host, LINK_PCIE, extra->pcie_width, extra->pcie_bytes_per_s,
                       LINK_UP, extra->source);
    }
}

/* Lowers the rate of xGMI links to the host to the published one, which the driver lacks. */
static void narrow_host_links(struct draft *draft)
{
    for (size_t i = 0; i < draft->graph->link_count; i++) {
        struct link *link = &draft->graph->links[i];
        bool is_gpu = draft_place(draft, link->from)->kind == PLACE_GPU;
        place_id gpu = is_gpu ? link->from : link->to, host = is_gpu ? link->to : link->from;
        const struct engine_limit *limit = engine_limit_of(draft->graph, gpu);
        if (link->kind == LINK_XGMI && draft_place(draft, host)->kind == PLACE_NUMA &&
            limit != NULL && isfinite(limit->host_bytes_per_s))
            link->nominal_bytes_per_s =
                fmin(link->nominal_bytes_per_s,
                     limit->host_bytes_per_s * (link->width > 0 ? link->width : 1));
    }
}

static void link_memories(struct draft *draft)
{
    for (place_id id = graph_next(draft->graph, PLACE_NUMA, 0); id != PLACE_NONE;
         id = graph_next(draft->graph, PLACE_NUMA, id + 1)) {
        const struct place *numa = draft_place(draft, id);
        /* a gpu's own memory is linked to the gpu already */
        if (numa->capacity_bytes == 0 || place_detail(numa, "gpu_pci") != NULL)
            continue;
        place_id package = graph_next(draft->graph, PLACE_PACKAGE, 0);
        for (; package != PLACE_NONE;
             package = graph_next(draft->graph, PLACE_PACKAGE, package + 1)) {
            const struct cpuset *cpus = draft_place(draft, package)->cpus;
            if (numa->parent == package || (numa->parent == 0 && numa->cpus != NULL &&
                                            cpus != NULL && cpuset_intersects(cpus, numa->cpus)))
                draft_link(draft, id, package, LINK_MEMBUS, 0, (double)NAN, LINK_UP, DRAFT_HWLOC);
        }
    }
}

static void link_packages(struct draft *draft)
{
    size_t count = graph_count(draft->graph, PLACE_PACKAGE);
    for (size_t i = 0; i < draft->graph->link_count; i++)
        if (draft->graph->links[i].kind == LINK_SMP)
            return;
    for (size_t i = 0; count <= PACKAGES_ALL_JOINED && i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            draft_link(draft, draft_nth(draft, PLACE_PACKAGE, i),
                       draft_nth(draft, PLACE_PACKAGE, j), LINK_SMP, 0, (double)NAN, LINK_UNKNOWN,
                       DRAFT_HWLOC);
}

/* Order of places in the graph, which numbers them. */
struct position {
    enum place_kind kind;
    uint64_t key;
    int32_t tie;
    place_id id;
};

static int compare_positions(const void *a, const void *b)
{
    const struct position *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->tie != y->tie)
        return x->tie < y->tie ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static uint64_t position_key(struct draft *draft, place_id id)
{
    const struct place *place = draft_place(draft, id);
    if (place->kind == PLACE_NUMA || place->kind == PLACE_PU)
        return (uint64_t)(uint32_t)place->number;
    if (place->kind == PLACE_PACKAGE || place->kind == PLACE_LLC || place->kind == PLACE_CORE)
        return place->cpus == NULL ? UINT64_MAX : (uint64_t)(int64_t)cpuset_next(place->cpus, 0);
    if (place->kind != PLACE_MODULE)
        return draft_extra(draft, id)->pci;
    uint64_t lowest = UINT64_MAX;
    for (place_id gpu = graph_next(draft->graph, PLACE_GPU, 0); gpu != PLACE_NONE;
         gpu = graph_next(draft->graph, PLACE_GPU, gpu + 1))
        if (draft_place(draft, gpu)->parent == id && draft_extra(draft, gpu)->pci < lowest)
            lowest = draft_extra(draft, gpu)->pci;
    return lowest;
}

/* True for a module whose gpus another source gave to another module; it is left out, and
 * PLACE_NONE in new_id. */
static bool is_empty_module(struct draft *draft, place_id id)
{
    if (draft_place(draft, id)->kind != PLACE_MODULE)
        return false;
    for (place_id gpu = graph_next(draft->graph, PLACE_GPU, 0); gpu != PLACE_NONE;
         gpu = graph_next(draft->graph, PLACE_GPU, gpu + 1))
        if (draft_place(draft, gpu)->parent == id)
            return false;
    return true;
}

static int32_t final_number(const struct place *place, int32_t index)
{
    if (place->kind == PLACE_NUMA || place->kind == PLACE_PU)
        return place->number;
    if (place->kind == PLACE_CORE && place->cpus != NULL)
        return cpuset_next(place->cpus, 0);
    return index;
}

/* Moves every place into the graph in its final order. new_id maps draft ids. */
static bool move_places(struct draft *draft, struct graph *graph, place_id *new_id)
{
    size_t count = draft->graph->place_count, kept = 0;
    struct position *positions = calloc(count, sizeof *positions);
    if (positions == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        place_id id = (place_id)i;
        new_id[id] = PLACE_NONE;
        if (!is_empty_module(draft, id))
            positions[kept++] =
                (struct position){draft_place(draft, id)->kind, position_key(draft, id),
                                  draft_extra(draft, id)->kfd_node, id};
    }
    qsort(positions, kept, sizeof *positions, compare_positions);
    int32_t index = 0;
    for (size_t i = 0; i < kept; i++) {
        struct place *old = draft_place(draft, positions[i].id);
        index = i > 0 && positions[i].kind == positions[i - 1].kind ? index + 1 : 0;
        place_id id = graph_add_place(graph, old->kind, final_number(old, index));
        if (id == PLACE_NONE) {
            free(positions);
            return false;
        }
        struct place *place = &graph->places[id], named = *place;
        *place = *old;
        place->number = named.number;
        memcpy(place->name, named.name, sizeof place->name);
        *old = named; /* owns nothing now, so that the draft frees no part of it */
        old->parent = place->parent;
        new_id[positions[i].id] = id;
    }
    free(positions);
    for (size_t i = 0; i < graph->place_count; i++) {
        struct place *place = &graph->places[i];
        place->parent = place->parent == PLACE_NONE ? PLACE_NONE : new_id[place->parent];
        place->numa = place->numa == PLACE_NONE ? PLACE_NONE : new_id[place->numa];
    }
    return true;
}

static int compare_links(const void *a, const void *b)
{
    const struct link *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return (int)x->kind - (int)y->kind;
}

/* Moves the links, each named from the place that is first in the graph, and sorts them. */
static bool move_links(const struct draft *draft, struct graph *graph, const place_id *new_id)
{
    for (size_t i = 0; i < draft->graph->link_count; i++) {
        const struct link *old = &draft->graph->links[i];
        place_id a = new_id[old->from], b = new_id[old->to];
        struct link *link = graph_add_link(graph, a, b, old->kind);
        if (link == NULL)
            return false;
        *link = *old;
        link->from = a < b ? a : b;
        link->to = a < b ? b : a;
    }
    if (graph->link_count > 0)
        qsort(graph->links, graph->link_count, sizeof *graph->links, compare_links);
    return true;
}

/* Adds resources that transfers share by structure: the host port of each module of several gpus,
 * and each memory controller. */
static bool add_resources(struct graph *graph, const struct values *values)
{
    char name[48];
    for (size_t i = 0; i < graph->place_count; i++) {
        const struct place *place = &graph->places[i];
        if (place->kind != PLACE_MODULE &&
            !(place->kind == PLACE_NUMA && place->capacity_bytes > 0))
            continue;
        snprintf(name, sizeof name, "%s:%s", place->name,
                 place->kind == PLACE_MODULE ? "host-port" : "memory");
        struct resource *resource = graph_add_resource(graph, name);
        if (resource == NULL)
            return false;
        if (place->kind == PLACE_NUMA) {
            if (!graph_add_user(resource, place->name))
                return false;
            for (size_t v = 0; v < values->count; v++)
                if (values->item[v].metric == METRIC_MEMORY_BANDWIDTH &&
                    values->item[v].to == (place_id)i)
                    resource->capacity_bytes_per_s =
                        fmax(values->item[v].value, resource->capacity_bytes_per_s);
        }
        for (size_t g = 0; place->kind == PLACE_MODULE && g < graph->place_count; g++)
            if (graph->places[g].kind == PLACE_GPU && graph->places[g].parent == (place_id)i &&
                !graph_add_user(resource, graph->places[g].name))
                return false;
    }
    return true;
}

static bool move_values(const struct draft *draft, struct values *values, const place_id *new_id)
{
    for (size_t i = 0; i < draft->value_count; i++) {
        const struct draft_value *old = &draft->values[i];
        const struct value value = {.metric = old->metric,
                                    .source = old->source,
                                    .from = new_id[old->from],
                                    .to = new_id[old->to],
                                    .value = old->value,
                                    .low = (double)NAN,
                                    .high = (double)NAN};
        if (!values_add(values, &value, old->axes, NULL))
            return false;
    }
    return true;
}

static bool move_rest(struct draft *draft, struct graph *graph, const char *name)
{
    if (!place_set_text(&graph->name, name))
        return false;
    graph->software = draft->graph->software;
    graph->facts = draft->graph->facts;
    graph->software_count = draft->graph->software_count;
    graph->disagreements = draft->graph->disagreements;
    graph->disagreement_count = draft->graph->disagreement_count;
    draft->graph->software = NULL;
    draft->graph->facts = NULL;
    draft->graph->disagreements = NULL;
    draft->graph->software_count = draft->graph->disagreement_count = 0;
    return true;
}

#define PCI_LENGTH 12 /* of "0000:c1:00.0" */

static bool is_address(const char *text)
{
    char address[PCI_LENGTH + 1];
    return strnlen(text, PCI_LENGTH) == PCI_LENGTH &&
           pci_parse(memcpy(memset(address, 0, sizeof address), text, PCI_LENGTH)) != PCI_NONE;
}

static bool same_but_for_addresses(const char *a, const char *b)
{
    while (*a != '\0' && *b != '\0') {
        size_t length = is_address(a) && is_address(b) ? PCI_LENGTH : 1;
        if (length == 1 && *a != *b)
            return false;
        a += length;
        b += length;
    }
    return *a == *b;
}

/* Folds disagreements that differ only in addresses into the first, with the number of others. */
static bool fold_disagreements(struct graph *graph)
{
    size_t kept = 0;
    for (size_t i = 0; i < graph->disagreement_count; i++) {
        char *sentence = graph->disagreements[i], *folded;
        size_t more = 0;
        if (sentence == NULL)
            continue;
        for (size_t j = i + 1; j < graph->disagreement_count; j++)
            if (graph->disagreements[j] != NULL &&
                same_but_for_addresses(sentence, graph->disagreements[j])) {
                free(graph->disagreements[j]);
                graph->disagreements[j] = NULL;
                more++;
            }
        graph->disagreements[i] = NULL;
        graph->disagreements[kept++] = sentence;
        if (more == 0)
            continue;
        if (asprintf(&folded, "%s (%zu more like that)", sentence, more) < 0)
            return false;
        free(sentence);
        graph->disagreements[kept - 1] = folded;
    }
    graph->disagreement_count = kept;
    return true;
}

enum berth_code draft_finish(struct draft *draft, const char *name, enum origin origin,
                             struct graph **ret_graph, struct values **ret_values,
                             struct berth_err *err)
{
    settle(draft);
    link_devices(draft);
    narrow_host_links(draft);
    link_memories(draft);
    link_packages(draft);
    enum berth_code code = BERTH_OK;
    struct graph *graph = graph_new();
    struct values *values = values_new();
    place_id *new_id = calloc(draft->graph->place_count, sizeof *new_id);
    if (draft->out_of_memory || graph == NULL || values == NULL || new_id == NULL ||
        !move_places(draft, graph, new_id) || !move_links(draft, graph, new_id) ||
        !move_values(draft, values, new_id) || !add_resources(graph, values) ||
        !move_rest(draft, graph, name) || !fold_disagreements(graph))
        code = err_set(err, BERTH_NO_MEMORY, "no memory for the graph of %s", name);
    else
        graph->origin = origin;
    free(new_id);
    if (code == BERTH_OK)
        code = graph_finish(graph, err);
    draft_done(draft);
    if (code != BERTH_OK) {
        graph_unref(graph);
        values_free(values);
        return code;
    }
    fingerprint(graph, graph->fingerprint);
    *ret_graph = graph;
    *ret_values = values;
    return BERTH_OK;
}
