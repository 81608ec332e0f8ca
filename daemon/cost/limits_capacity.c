/* Capacities of parts: the rates that transfers carried, alone or together, and the limits that
 * runs of other kinds show. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/limits_inner.h"
#include "cost/policy.h"

#define HOST (TRANSFER_HOST_ENGINE | TRANSFER_HOST_KERNEL)
#define PEER (TRANSFER_PEER_ENGINE | TRANSFER_PEER_KERNEL)

/* ---- carried by one ---- */

static void note(const struct limits *limits, place_id from, place_id to, double bytes_per_s)
{
    struct limits_pair *pair = limits_pair_of(limits, from, to);
    if (pair != NULL)
        pair->alone = fmax(pair->alone, bytes_per_s);
}

void limits_note_alone(struct limits *limits, const struct values *values, const struct sets *sets)
{
    static const enum metric metrics[] = {METRIC_HOST_GPU_COPY_ENGINE, METRIC_HOST_GPU_KERNEL,
                                          METRIC_GPU_GPU_COPY_ENGINE, METRIC_GPU_GPU_KERNEL};
    for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++) {
        const struct value *v;
        for (size_t left = values_range(values, metrics[m], PLACE_NONE, &v); left > 0;
             left--, v++) {
            if (values_is_one_way(values, v))
                note(limits, v->from, v->to, v->value);
            if (values_stands_for_back(values, v))
                note(limits, v->to, v->from, v->value);
        }
    }
    for (size_t s = 0; sets != NULL && s < sets->count; s++)
        if (sets->item[s].flow_count == 1 && transfer_kind_of(sets->item[s].metric) != 0)
            note(limits, sets->item[s].flow->from, sets->item[s].flow->to,
                 sets->item[s].flow->bytes_per_s);
}

/* True when one transfer fills it as far as it goes: a module's port, a PCIe port no wider than
 * the links of its GPUs, all links of a GPU to a switch. */
static bool is_filled_by_one(const struct graph *graph, const struct limit *limit)
{
    const struct limit_role *role = &limit->role;
    if (role->part == LIMIT_LINK)
        return (graph_place(graph, role->place)->kind == PLACE_SWITCH) !=
               (graph_place(graph, role->other)->kind == PLACE_SWITCH);
    return role->part == LIMIT_HOST_PORT || role->part == LIMIT_SWITCH_PORT ||
           (limits_is_pcie_port(role->part) && limit->source == LIMIT_MEMBER);
}

static void raise_to(struct limit *limit, double bytes_per_s)
{
    if (limit->step[0].bytes_per_s >= bytes_per_s)
        return;
    limit->step[0].bytes_per_s = bytes_per_s;
    limit->source = LIMIT_CARRIED;
}

/* A part that one transfer fills carries only what transfers carried; another one at least that. */
static void carry_alone(struct limits *limits, bool is_first)
{
    size_t pairs = limits->slot_count * limits->slot_count;
    for (const struct limits_pair *pair = limits->pair; pair < limits->pair + pairs; pair++)
        for (size_t u = 0; u < pair->part_count && pair->alone > 0; u++) {
            struct limit *limit = &limits->item[pair->use[u]];
            if (limit->role.direction == LIMIT_BOTH)
                continue;
            if (is_first && is_filled_by_one(limits->graph, limit))
                limit->step[0].bytes_per_s = 1;
            else if (!is_first && limit->step[0].bytes_per_s > 0)
                raise_to(limit, pair->alone);
        }
}

/* ---- carried by runs ---- */

/* Flows of one run through a part. */
struct load {
    unsigned flows, directions; /* directions: bits, of a part for both */
    bool is_slowed;             /* a flow got less than alone */
    double bytes_per_s;
};

/* True when a flow of a run gets clearly less than alone. */
static bool is_slowed(const struct limits *limits, const struct values *values,
                      const struct set *set, const struct set_flow *flow)
{
    enum metric metric;
    if (!transfer_alone_metric(set->metric, &metric))
        return false;
    const struct value *alone = values_find(values, metric, flow->from, flow->to, flow->axes);
    if (alone == NULL && *flow->axes == '\0')
        alone = limits_alone(limits, metric, flow->from, flow->to);
    return alone != NULL && alone->value > flow->bytes_per_s * (1 + POLICY_SIMILAR);
}

static void add_flow(const struct limits *limits, const struct set_flow *flow, bool slowed,
                     struct load *load)
{
    const struct limits_pair *pair = limits_pair(limits, flow->from, flow->to);
    for (size_t u = 0; u < pair->part_count; u++) {
        const struct limit_role *role = &limits->item[pair->use[u]].role;
        struct load *its = &load[pair->use[u]];
        if (pair->several && role->part == LIMIT_LINK)
            continue;
        if (u > 0 && role->direction == LIMIT_BOTH) /* behind its direction in the list */
            its->directions |= 1u << limits->item[pair->use[u - 1]].role.direction;
        its->bytes_per_s += flow->bytes_per_s;
        its->is_slowed |= slowed;
        its->flows++;
    }
}

static void carry_run(struct limits *limits, const struct values *values, const struct set *set,
                      struct load *load)
{
    unsigned kind = transfer_kind_index(transfer_kind_of(set->metric));
    memset(load, 0, limits->count * sizeof *load);
    for (size_t i = 0; i < set->flow_count; i++)
        add_flow(limits, &set->flow[i], is_slowed(limits, values, set, &set->flow[i]), load);
    for (size_t i = 0; i < limits->count; i++) {
        struct limit *limit = &limits->item[i];
        const struct load *its = &load[i];
        bool is_one_way =
            limit->role.direction == LIMIT_BOTH && (its->directions & (its->directions - 1)) == 0;
        if (limit->step[0].bytes_per_s > 0 && its->flows > 0)
            /* a direction's own limit holds its users up first: of both together more counts */
            raise_to(limit, its->bytes_per_s * (is_one_way ? 1 + POLICY_SIMILAR : 1));
        if (its->flows < 2 || is_one_way)
            continue;
        limit->carried = fmax(limit->carried, its->bytes_per_s);
        /* ports before a memory may have slowed its users: they say nothing of it */
        if (its->flows > limit->apart[kind] &&
            !(its->is_slowed && limit->role.part == LIMIT_MEMORY))
            limit->apart[kind] = its->flows;
    }
}

bool limits_carried(struct limits *limits, const struct values *values, const struct sets *sets)
{
    struct load *load = calloc(limits->count + 1, sizeof *load);
    if (load == NULL)
        return false;
    carry_alone(limits, true);
    carry_alone(limits, false);
    for (size_t s = 0; sets != NULL && s < sets->count; s++)
        if (transfer_kind_of(sets->item[s].metric) != 0)
            carry_run(limits, values, &sets->item[s], load);
    free(load);
    return true;
}

/* ---- shown by runs of other kinds ---- */

/* Returns false for parts that only runs show; they limit the kinds of both mechanisms. */
static bool has_own_capacity(const struct graph *graph, const struct limit_role *role)
{
    if (role->part == LIMIT_LINK)
        return role->direction != LIMIT_BOTH || graph_place(graph, role->place)->kind != PLACE_GPU;
    return role->part < LIMIT_GPU && role->part != LIMIT_HOST_LINK;
}

/* The highest capacity that runs show of a part is the best known one for other kinds. */
static void take_found(const struct graph *graph, struct limit *part, const struct limit *found)
{
    unsigned kind = transfer_kind_of(found->metric), kinds = (kind & HOST) != 0   ? HOST
                                                             : (kind & PEER) != 0 ? PEER
                                                                                  : 0;
    double most = part->source == LIMIT_OTHER_RUNS ? part->step[0].bytes_per_s : 0;
    if (!has_own_capacity(graph, &part->role)) {
        if (kinds == 0)
            return;
        part->kinds |= kinds;
    }
    for (size_t s = 0; s < found->step_count; s++)
        most = fmax(most, found->step[s].bytes_per_s);
    part->step[0].bytes_per_s = most;
    part->source = LIMIT_OTHER_RUNS;
}

/* Parts that are alike all over a node, by number: GPUs' host links, by direction, and both
 * directions between packages; ALIKE others. */
#define ALIKE 4

static size_t alike_of(const struct graph *graph, const struct limit *limit)
{
    const struct limit_role *role = &limit->role;
    if (limit->source == LIMIT_RUNS)
        return ALIKE;
    if (role->part == LIMIT_HOST_LINK)
        return role->direction;
    return role->part == LIMIT_LINK && role->direction == LIMIT_BOTH &&
                   graph_place(graph, role->place)->kind == PLACE_PACKAGE
               ? ALIKE - 1
               : ALIKE;
}

/* Parts of which no run shows the capacity count as the widest ones alike, unless they carried
 * more. */
static void take_alike(struct limits *limits)
{
    const struct limit *most[ALIKE + 1] = {NULL};
    for (size_t i = 0; i < limits->count; i++) {
        const struct limit *limit = &limits->item[i];
        size_t alike = alike_of(limits->graph, limit);
        if (limit->source == LIMIT_OTHER_RUNS &&
            (most[alike] == NULL || most[alike]->step[0].bytes_per_s < limit->step[0].bytes_per_s))
            most[alike] = limit;
    }
    most[ALIKE] = NULL;
    for (size_t i = 0; i < limits->count; i++) {
        struct limit *limit = &limits->item[i];
        const struct limit *other = most[alike_of(limits->graph, limit)];
        if (limit->source == LIMIT_OTHER_RUNS || other == NULL ||
            limit->carried > other->step[0].bytes_per_s * (1 + POLICY_SIMILAR))
            continue;
        memset(limit->apart, 0, sizeof limit->apart);
        limit->step[0].bytes_per_s = other->step[0].bytes_per_s;
        limit->kinds = other->kinds;
        limit->source = LIMIT_OTHER_RUNS;
    }
}

void limits_from_other_kinds(struct limits *limits)
{
    for (size_t i = 0; i < limits->count; i++) {
        const struct limit *found = &limits->item[i];
        if (found->source == LIMIT_RUNS && found->has_role)
            take_found(limits->graph, limits_find(limits, &found->role), found);
    }
    take_alike(limits);
}
