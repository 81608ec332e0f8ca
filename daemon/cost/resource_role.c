#include "cost/resource_role.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/resource_hive.h"

struct roles {
    struct resource_role *item;
    size_t count, room;
    bool failed;
};

static void add(struct roles *roles, enum resource_part part, enum resource_direction direction,
                place_id place, place_id other)
{
    if (roles->count == roles->room) {
        size_t room = roles->room > 0 ? 2 * roles->room : 64;
        struct resource_role *item = realloc(roles->item, room * sizeof *item);
        if (item == NULL) {
            roles->failed = true;
            return;
        }
        roles->item = item;
        roles->room = room;
    }
    roles->item[roles->count++] = (struct resource_role){part, direction, place, other, 0};
}

static void add_directions(struct roles *roles, enum resource_part part, place_id place)
{
    add(roles, part, RESOURCE_OUT, place, PLACE_NONE);
    add(roles, part, RESOURCE_IN, place, PLACE_NONE);
    add(roles, part, RESOURCE_BOTH, place, PLACE_NONE);
}

static bool is_at_switch(const struct graph *graph, place_id gpu, place_id at)
{
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        if ((link->from == gpu && link->to == at) || (link->from == at && link->to == gpu))
            return true;
    }
    return false;
}

static bool is_gpu(const struct graph *graph, place_id place)
{
    return graph_place(graph, place)->kind == PLACE_GPU;
}
static bool is_numa(const struct graph *graph, place_id place)
{
    return graph_place(graph, place)->kind == PLACE_NUMA;
}

static size_t children(const struct graph *graph, place_id parent, enum place_kind kind)
{
    size_t count = 0;
    for (place_id place = graph_next(graph, kind, 0); place != PLACE_NONE;
         place = graph_next(graph, kind, place + 1))
        count += graph_place(graph, place)->parent == parent;
    return count;
}

/* Several, of which no one module has all. */
static bool has_gpus(const struct graph *graph, place_id numa)
{
    place_id first = PLACE_NONE;
    bool is_apart = false;
    for (place_id gpu = graph_next(graph, PLACE_GPU, 0); gpu != PLACE_NONE;
         gpu = graph_next(graph, PLACE_GPU, gpu + 1)) {
        if (graph_place(graph, gpu)->numa != numa)
            continue;
        place_id parent = graph_place(graph, gpu)->parent;
        is_apart =
            is_apart || (first != PLACE_NONE && (parent != graph_place(graph, first)->parent ||
                                                 graph_place(graph, parent)->kind != PLACE_MODULE));
        first = first == PLACE_NONE ? gpu : first;
    }
    return is_apart;
}

/* Of a gpu of a hive, and of each of several hives. */
static void add_hives(struct roles *roles, const struct graph *graph, const place_id *hive)
{
    place_id first = graph_next(graph, PLACE_GPU, 0);
    bool are_several = false;
    for (place_id gpu = first; gpu != PLACE_NONE; gpu = graph_next(graph, PLACE_GPU, gpu + 1))
        are_several = are_several || hive[gpu] != hive[first];
    for (place_id gpu = first; are_several && gpu != PLACE_NONE;
         gpu = graph_next(graph, PLACE_GPU, gpu + 1)) {
        bool is_of_several = false;
        for (place_id other = gpu + 1; hive[gpu] == gpu && other < (place_id)graph->place_count;
             other++)
            is_of_several = is_of_several || hive[other] == gpu;
        if (is_of_several)
            add_directions(roles, RESOURCE_HIVE, gpu);
    }
}

place_id resource_role_pcie_port(const struct graph *graph, place_id place, size_t level)
{
    char key[PCI_PORT_KEY];
    const char *port = place_detail(graph_place(graph, place), pci_port_key(level, "", key));
    place_id gpu = port != NULL ? graph_next(graph, PLACE_GPU, 0) : PLACE_NONE;
    while (gpu != PLACE_NONE) {
        const char *its = place_detail(graph_place(graph, gpu), key);
        if (its != NULL && strcmp(its, port) == 0)
            break;
        gpu = graph_next(graph, PLACE_GPU, gpu + 1);
    }
    return gpu;
}

static void add_host_links(struct roles *roles, const struct graph *graph)
{
    for (place_id gpu = graph_next(graph, PLACE_GPU, 0); gpu != PLACE_NONE;
         gpu = graph_next(graph, PLACE_GPU, gpu + 1))
        add_directions(roles, RESOURCE_HOST_LINK, gpu);
}

struct resource_role *resource_role_all(const struct graph *graph, size_t *ret_count)
{
    struct roles roles = {0};
    place_id *hive = resource_hive_find(graph);
    roles.failed = hive == NULL;
    for (size_t i = 0; i < graph->link_count; i++)
        if (is_gpu(graph, graph->links[i].from) && is_gpu(graph, graph->links[i].to))
            add(&roles, RESOURCE_LINK, RESOURCE_BOTH, graph->links[i].from, graph->links[i].to);
    add_host_links(&roles, graph);
    for (place_id gpu = graph_next(graph, PLACE_GPU, 0); gpu != PLACE_NONE;
         gpu = graph_next(graph, PLACE_GPU, gpu + 1))
        add_directions(&roles, RESOURCE_GPU, gpu);
    for (place_id module = graph_next(graph, PLACE_MODULE, 0); module != PLACE_NONE;
         module = graph_next(graph, PLACE_MODULE, module + 1))
        if (children(graph, module, PLACE_GPU) > 1)
            add_directions(&roles, RESOURCE_HOST_PORT, module);
    for (place_id gpu = graph_next(graph, PLACE_GPU, 0); gpu != PLACE_NONE;
         gpu = graph_next(graph, PLACE_GPU, gpu + 1))
        for (size_t level = 0; level < PCI_PORT_LEVELS; level++)
            if (resource_role_pcie_port(graph, gpu, level) == gpu) {
                add_directions(&roles, RESOURCE_PCIE_PORT, gpu);
                for (size_t i = 1; i <= 3 && i <= roles.count; i++)
                    roles.item[roles.count - i].level = level;
            }
    for (place_id numa = graph_next(graph, PLACE_NUMA, 0); numa != PLACE_NONE;
         numa = graph_next(graph, PLACE_NUMA, numa + 1))
        if (has_gpus(graph, numa))
            add_directions(&roles, RESOURCE_HOST_PORT, numa);
    for (place_id at = graph_next(graph, PLACE_SWITCH, 0); at != PLACE_NONE;
         at = graph_next(graph, PLACE_SWITCH, at + 1)) {
        add_directions(&roles, RESOURCE_SWITCH, at);
        add(&roles, RESOURCE_SWITCH, RESOURCE_THROUGH, at, PLACE_NONE);
    }
    for (place_id numa = graph_next(graph, PLACE_NUMA, 0); numa != PLACE_NONE;
         numa = graph_next(graph, PLACE_NUMA, numa + 1))
        add_directions(&roles, RESOURCE_MEMORY, numa);
    for (place_id package = graph_next(graph, PLACE_PACKAGE, 0); package != PLACE_NONE;
         package = graph_next(graph, PLACE_PACKAGE, package + 1))
        if (children(graph, package, PLACE_NUMA) > 1)
            add_directions(&roles, RESOURCE_PACKAGE, package);
    if (hive != NULL)
        add_hives(&roles, graph, hive);
    free(hive);
    if (roles.failed || roles.item == NULL) {
        free(roles.item);
        return roles.failed ? NULL : calloc(1, sizeof *roles.item);
    }
    *ret_count = roles.count;
    return roles.item;
}

/* NVLink's switches have no way to the host. */
static bool leads_to_host(const struct graph *graph, place_id at)
{
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        if ((link->from == at || link->to == at) && link->kind != LINK_NVLINK)
            return true;
    }
    return false;
}

/* Whether the end of a flow is what the role is about. */
static bool is_inside(const struct graph *graph, const struct resource_role *role,
                      const place_id *hive, place_id place)
{
    switch (role->part) {
    case RESOURCE_LINK:
        return place == role->place || place == role->other;
    case RESOURCE_GPU:
    case RESOURCE_HOST_LINK:
    case RESOURCE_SWITCH_PORT:
    case RESOURCE_PCIE_PORT:
    case RESOURCE_MEMORY:
        return place == role->place;
    case RESOURCE_HOST_PORT:
        return is_gpu(graph, place) && (graph_place(graph, place)->parent == role->place ||
                                        graph_place(graph, place)->numa == role->place);
    case RESOURCE_HIVE:
        return hive[place] == role->place;
    case RESOURCE_SWITCH:
        return is_gpu(graph, place) && is_at_switch(graph, place, role->place);
    case RESOURCE_PACKAGE:
        return is_numa(graph, place) && graph_place(graph, place)->parent == role->place;
    }
    return false;
}

bool resource_role_has(const struct graph *graph, const struct resource_role *role,
                       const place_id *hive, bool over_host, place_id from, place_id to)
{
    bool out = is_inside(graph, role, hive, from), in = is_inside(graph, role, hive, to);
    if (role->part == RESOURCE_LINK || role->direction == RESOURCE_THROUGH)
        return out && in && from != to;
    /* within it, or elsewhere; the cores of a node in its own memory read and write it */
    if (out == in)
        return out && role->part == RESOURCE_MEMORY && role->direction == RESOURCE_BOTH;
    place_id outside = out ? to : from;
    if ((role->part == RESOURCE_HOST_PORT || role->part == RESOURCE_HOST_LINK ||
         role->part == RESOURCE_HIVE) &&
        !over_host && !is_numa(graph, outside))
        return false;
    if (role->part == RESOURCE_SWITCH_PORT && !is_gpu(graph, outside))
        return false;
    if (role->part == RESOURCE_SWITCH && is_numa(graph, outside) &&
        !leads_to_host(graph, role->place))
        return false;
    return role->direction == RESOURCE_BOTH || out == (role->direction == RESOURCE_OUT);
}

bool resource_role_is_hidden(const struct graph *graph, const struct resource_role *role)
{
    return role->part == RESOURCE_HOST_PORT && is_numa(graph, role->place);
}

void resource_role_name(const struct graph *graph, const struct resource_role *role, char *buffer,
                        size_t size)
{
    static const char *const ways[] = {[RESOURCE_OUT] = ":out",
                                       [RESOURCE_IN] = ":in",
                                       [RESOURCE_BOTH] = "",
                                       [RESOURCE_THROUGH] = ":through"};
    static const char *const levels[PCI_PORT_LEVELS] = {"", "2", "3"};
    static const char *const of_memory[] = {[RESOURCE_OUT] = ":read",
                                            [RESOURCE_IN] = ":write",
                                            [RESOURCE_BOTH] = "",
                                            [RESOURCE_THROUGH] = ""};
    const char *place = graph_place(graph, role->place)->name;
    switch (role->part) {
    case RESOURCE_LINK:
        snprintf(buffer, size, "%s-%s:link%s", place, graph_place(graph, role->other)->name,
                 ways[role->direction]);
        break;
    case RESOURCE_HOST_PORT:
        snprintf(buffer, size, "%s:%s-port%s", place,
                 resource_role_is_hidden(graph, role) ? "gpu" : "host", ways[role->direction]);
        break;
    case RESOURCE_HOST_LINK:
        snprintf(buffer, size, "%s:host-link%s", place, ways[role->direction]);
        break;
    case RESOURCE_PCIE_PORT:
        snprintf(buffer, size, "%s:pcie-port%s%s", place, levels[role->level],
                 ways[role->direction]);
        break;
    case RESOURCE_HIVE:
        snprintf(buffer, size, "%s:hive%s", place, ways[role->direction]);
        break;
    case RESOURCE_SWITCH_PORT:
        snprintf(buffer, size, "%s:switch-port%s", place, ways[role->direction]);
        break;
    case RESOURCE_MEMORY:
        snprintf(buffer, size, "%s:memory%s", place, of_memory[role->direction]);
        break;
    case RESOURCE_GPU:
    case RESOURCE_SWITCH:
    case RESOURCE_PACKAGE:
        snprintf(buffer, size, "%s%s", place,
                 role->direction == RESOURCE_BOTH ? ":port" : ways[role->direction]);
        break;
    }
}
