#include "cost/resource_seen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/resource_rate.h"

#define NONE UINT16_MAX
/* What goes one way is held up by what is for that way: of both ways together so much more counts
 * as what was seen, so that what measuring is uncertain by makes that no limit of them. */
#define SAME_WAY 1.05

/* What goes through at once. */
struct load {
    unsigned users, ways; /* ways: bits of directions, of what is both */
    unsigned flows;       /* of the set; users are fewer where one port decides what several get */
    size_t last;          /* of these */
    double bytes_per_s;
};

struct seeing {
    struct resource_structure *structure;
    const struct graph *graph;
    const struct values *values;
    struct load *load; /* by item: of one set */
};

static void raise_capacity(struct resource_nominal *item, double bytes_per_s, unsigned transfers,
                           place_id from, place_id to)
{
    if (!(item->bytes_per_s > 0) || item->bytes_per_s >= bytes_per_s)
        return;
    item->bytes_per_s = bytes_per_s;
    item->seen = transfers;
    item->seen_from = from;
    item->seen_to = to;
}

/* What one transfer alone fills as far as it goes: a module's port, a PCIe port that is no wider
 * than its gpus' links, all that a gpu has to a switch. */
static bool is_filled_by_one(const struct graph *graph, const struct resource_role *role)
{
    bool is_wider = false;
    if (role->part == RESOURCE_PCIE_PORT)
        return resource_rate_pcie_port(graph, role->place, role->level, &is_wider) > 0 && !is_wider;
    bool is_link = role->part == RESOURCE_LINK &&
                   graph_place(graph, role->place)->kind != graph_place(graph, role->other)->kind;
    return role->part == RESOURCE_HOST_PORT || role->part == RESOURCE_SWITCH_PORT ||
           (is_link && (graph_place(graph, role->place)->kind == PLACE_SWITCH ||
                        graph_place(graph, role->other)->kind == PLACE_SWITCH));
}

/* A gpu's host link carries of transfers with other gpus what one with host memory fills it with.
 */
static void look_at_host_link(const struct seeing *seeing, const struct value *v)
{
    bool is_out = graph_place(seeing->graph, v->from)->kind == PLACE_GPU;
    const struct resource_role role = {RESOURCE_HOST_LINK, is_out ? RESOURCE_OUT : RESOURCE_IN,
                                       is_out ? v->from : v->to, PLACE_NONE, 0};
    struct resource_nominal *item =
        graph_place(seeing->graph, v->from)->kind != graph_place(seeing->graph, v->to)->kind
            ? resource_structure_find(seeing->structure, &role)
            : NULL;
    if (item == NULL || v->source == VALUE_NOMINAL || !(v->value > item->bytes_per_s))
        return;
    item->bytes_per_s = v->value;
    item->seen = 1;
    item->seen_from = v->from;
    item->seen_to = v->to;
}

/* That is as wide as what went through it, where anything did; all is at least so wide. */
static void look_at_values(const struct seeing *seeing, bool ports)
{
    static const enum metric metrics[] = {METRIC_HOST_GPU_COPY_ENGINE, METRIC_HOST_GPU_KERNEL,
                                          METRIC_GPU_GPU_COPY_ENGINE, METRIC_GPU_GPU_KERNEL};
    struct resource_structure *structure = seeing->structure;
    for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++) {
        const struct value *v;
        for (size_t left = values_range(seeing->values, metrics[m], PLACE_NONE, &v); left > 0;
             left--, v++) {
            uint16_t use[RESOURCE_STRUCTURE_USES], back[RESOURCE_STRUCTURE_USES];
            size_t uses = values_is_one_way(seeing->values, v)
                              ? resource_structure_uses(structure, v->from, v->to, use)
                              : 0;
            if (ports && uses > 0)
                look_at_host_link(seeing, v);
            size_t backs = !ports && values_stands_for_back(seeing->values, v)
                               ? resource_structure_uses(structure, v->to, v->from, back)
                               : 0;
            for (size_t i = 0; i < backs; i++)
                raise_capacity(&structure->item[back[i]], v->value, 1, v->from, v->to);
            for (size_t i = 0; i < uses; i++) {
                struct resource_nominal *item = &structure->item[use[i]];
                /* of which one direction tells nothing */
                bool is_both = item->role.direction == RESOURCE_BOTH;
                if (ports && !is_both && is_filled_by_one(seeing->graph, &item->role))
                    item->bytes_per_s = 1;
                else if (!ports && (item->role.direction != RESOURCE_BOTH ||
                                    strstr(values_axes(seeing->values, v), "operation=") ==
                                        NULL)) /* what only reads is no copy */
                    raise_capacity(item, v->value, 1, v->from, v->to);
            }
        }
    }
}

static uint16_t port_used(const struct resource_structure *structure, const uint16_t *use,
                          size_t uses)
{
    for (size_t u = 0; u < uses; u++)
        if (structure->item[use[u]].role.part == RESOURCE_HOST_PORT)
            return use[u];
    return NONE;
}

/* Whether one before it in the set goes through the same port, either way, and then the same part:
 * what both get the port decides, and says nothing of how many that part carries. */
static bool is_behind_port(const struct resource_structure *structure, const struct set *set,
                           size_t flow, uint16_t item)
{
    uint16_t use[RESOURCE_STRUCTURE_USES];
    uint16_t port = port_used(
        structure, use,
        resource_structure_uses(structure, set->flow[flow].from, set->flow[flow].to, use));
    bool found = false;
    for (size_t i = 0; i < flow && port != NONE && !found; i++) {
        size_t uses = resource_structure_uses(structure, set->flow[i].from, set->flow[i].to, use);
        uint16_t its = port_used(structure, use, uses);
        for (size_t u = 0;
             its != NONE && structure->item[its].role.place == structure->item[port].role.place &&
             u < uses && !found;
             u++)
            found = use[u] == item;
    }
    return found;
}

static void look_at_set(const struct seeing *seeing, const struct set *set)
{
    struct resource_structure *structure = seeing->structure;
    unsigned kind = transfer_kind_of(set->metric);
    for (size_t i = 0; i < structure->count; i++)
        seeing->load[i] = (struct load){0};
    for (size_t i = 0; i < set->flow_count; i++) {
        uint16_t use[RESOURCE_STRUCTURE_USES];
        size_t uses = resource_structure_uses(structure, set->flow[i].from, set->flow[i].to, use);
        bool is_guess = resource_structure_is_guess(structure, set->flow[i].from, set->flow[i].to);
        for (size_t u = 0; u < uses; u++) {
            struct load *load = &seeing->load[use[u]];
            if (is_guess && structure->item[use[u]].role.part == RESOURCE_LINK)
                continue;
            load->users += structure->item[use[u]].role.part != RESOURCE_MEMORY ||
                           !is_behind_port(structure, set, i, use[u]);
            if (u > 0 && structure->item[use[u]].role.direction == RESOURCE_BOTH)
                /* what is both follows the way that is gone */
                load->ways |= 1u << structure->item[use[u - 1]].role.direction;
            load->bytes_per_s += set->flow[i].bytes_per_s;
            load->last = i;
            load->flows++;
        }
    }
    for (size_t i = 0; i < structure->count; i++) {
        bool is_both = structure->item[i].role.direction == RESOURCE_BOTH,
             there_and_back = (seeing->load[i].ways & (seeing->load[i].ways - 1)) != 0;
        raise_capacity(&structure->item[i],
                       seeing->load[i].bytes_per_s * (is_both && !there_and_back ? SAME_WAY : 1),
                       seeing->load[i].flows, set->flow[seeing->load[i].last].from,
                       set->flow[seeing->load[i].last].to);
        if (seeing->load[i].users < 2 || (is_both && !there_and_back))
            continue;
        structure->item[i].carried = fmax(structure->item[i].carried, seeing->load[i].bytes_per_s);
        unsigned *most = &structure->item[i].together[transfer_kind_index(kind)];
        *most = seeing->load[i].users > *most ? seeing->load[i].users : *most;
    }
}

bool resource_seen(struct resource_structure *structure, const struct graph *graph,
                   const struct values *values, const struct sets *sets)
{
    const struct seeing seeing = {.structure = structure,
                                  .graph = graph,
                                  .values = values,
                                  .load = calloc(structure->count + 1, sizeof *seeing.load)};
    if (seeing.load == NULL)
        return false;
    look_at_values(&seeing, true);
    look_at_values(&seeing, false);
    for (size_t s = 0; sets != NULL && s < sets->count; s++)
        if (transfer_kind_of(sets->item[s].metric) != 0)
            look_at_set(&seeing, &sets->item[s]);
    free(seeing.load);
    return true;
}
