/* Capacities of parts from the rates that transfers carried, alone or together. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/limits_inner.h"
#include "cost/policy.h"

void limits_each_rate(const struct values *values, const struct sets *sets, limits_at *at,
                      void *state)
{
    static const enum metric metrics[] = {METRIC_HOST_GPU_COPY_ENGINE, METRIC_HOST_GPU_KERNEL,
                                          METRIC_GPU_GPU_COPY_ENGINE, METRIC_GPU_GPU_KERNEL};
    for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++) {
        const struct value *v;
        for (size_t left = values_range(values, metrics[m], PLACE_NONE, &v); left > 0;
             left--, v++) {
            bool is_copy = strstr(values_axes(values, v), "operation=") == NULL;
            if (values_is_one_way(values, v))
                at(state, v->from, v->to, v->value, is_copy);
            if (values_stands_for_back(values, v))
                at(state, v->to, v->from, v->value, is_copy);
        }
    }
    for (size_t s = 0; sets != NULL && s < sets->count; s++)
        for (size_t i = 0; i < sets->item[s].flow_count; i++) {
            const struct set_flow *flow = &sets->item[s].flow[i];
            at(state, flow->from, flow->to, flow->bytes_per_s, true);
        }
}

static void raise_to(struct limit *limit, double bytes_per_s, unsigned transfers, place_id from,
                     place_id to)
{
    if (limit->step[0].bytes_per_s >= bytes_per_s)
        return;
    limit->step[0].bytes_per_s = bytes_per_s;
    limit->source = LIMIT_CARRIED;
    limit->carried_by = transfers;
    limit->carried_from = from;
    limit->carried_to = to;
}

/* True when one transfer fills it as far as it goes: a module's port, a PCIe port no wider than
 * the links of its GPUs, all links of a GPU to a switch. */
static bool is_filled_by_one(const struct graph *graph, const struct limit *limit)
{
    const struct limit_role *role = &limit->role;
    if (role->direction == LIMIT_BOTH)
        return false;
    if (role->part == LIMIT_LINK)
        return (graph_place(graph, role->place)->kind == PLACE_SWITCH) !=
               (graph_place(graph, role->other)->kind == PLACE_SWITCH);
    return role->part == LIMIT_HOST_PORT || role->part == LIMIT_SWITCH_PORT ||
           (limits_is_pcie_port(role->part) && limit->source == LIMIT_MEMBER);
}

/* A part that one transfer fills carries only what transfers carried; the host link of a GPU, for
 * transfers with GPUs, what those with host memory carry. */
static void fill_by_one(void *state, place_id from, place_id to, double bytes_per_s, bool is_copy)
{
    (void)is_copy;
    struct limits *limits = state;
    const struct limits_pair *pair = limits_pair(limits, from, to);
    bool is_with_host = (graph_place(limits->graph, from)->kind == PLACE_GPU) !=
                        (graph_place(limits->graph, to)->kind == PLACE_GPU);
    for (size_t u = 0; u < pair->part_count; u++) {
        struct limit *limit = &limits->item[pair->use[u]];
        if (u < pair->sure_count && is_filled_by_one(limits->graph, limit))
            limit->step[0].bytes_per_s = 1;
        else if (is_with_host && limit->role.part == LIMIT_HOST_LINK &&
                 limit->role.direction != LIMIT_BOTH)
            raise_to(limit, bytes_per_s, 1, from, to);
    }
}

static void raise_by_one(void *state, place_id from, place_id to, double bytes_per_s, bool is_copy)
{
    struct limits *limits = state;
    const struct limits_pair *pair = limits_pair(limits, from, to);
    for (size_t u = 0; u < pair->sure_count; u++) {
        struct limit *limit = &limits->item[pair->use[u]];
        if (limit->step[0].bytes_per_s > 0 && (limit->role.direction != LIMIT_BOTH || is_copy))
            raise_to(limit, bytes_per_s, 1, from, to);
    }
}

/* ---- runs ---- */

/* Flows of one run through a part. */
struct load {
    unsigned flows, directions; /* directions: bits, of a part for both */
    size_t last;
    double bytes_per_s;
};

static void add_flow(const struct limits *limits, const struct set *set, size_t flow,
                     struct load *load)
{
    const struct limits_pair *pair = limits_pair(limits, set->flow[flow].from, set->flow[flow].to);
    for (size_t u = 0; u < pair->sure_count; u++) {
        const struct limit_role *role = &limits->item[pair->use[u]].role;
        struct load *its = &load[pair->use[u]];
        if (pair->several && role->part == LIMIT_LINK)
            continue;
        if (u > 0 && role->direction == LIMIT_BOTH) /* behind its direction in the list */
            its->directions |= 1u << limits->item[pair->use[u - 1]].role.direction;
        its->bytes_per_s += set->flow[flow].bytes_per_s;
        its->last = flow;
        its->flows++;
    }
}

static void raise_by_run(struct limits *limits, const struct set *set, struct load *load)
{
    unsigned kind = transfer_kind_index(transfer_kind_of(set->metric));
    memset(load, 0, limits->count * sizeof *load);
    for (size_t i = 0; i < set->flow_count; i++)
        add_flow(limits, set, i, load);
    for (size_t i = 0; i < limits->count; i++) {
        struct limit *limit = &limits->item[i];
        const struct load *its = &load[i];
        bool is_one_way =
            limit->role.direction == LIMIT_BOTH && (its->directions & (its->directions - 1)) == 0;
        if (limit->step[0].bytes_per_s > 0 && its->flows > 0)
            /* a direction's own limit holds its users up first: of both together more counts */
            raise_to(limit, its->bytes_per_s * (is_one_way ? 1 + POLICY_SIMILAR : 1), its->flows,
                     set->flow[its->last].from, set->flow[its->last].to);
        if (its->flows < 2 || is_one_way)
            continue;
        limit->carried = fmax(limit->carried, its->bytes_per_s);
        limit->apart[kind] = its->flows > limit->apart[kind] ? its->flows : limit->apart[kind];
    }
}

bool limits_carried(struct limits *limits, const struct values *values, const struct sets *sets)
{
    struct load *load = calloc(limits->count + 1, sizeof *load);
    if (load == NULL)
        return false;
    limits_each_rate(values, NULL, fill_by_one, limits);
    limits_each_rate(values, NULL, raise_by_one, limits);
    for (size_t s = 0; sets != NULL && s < sets->count; s++)
        if (transfer_kind_of(sets->item[s].metric) != 0)
            raise_by_run(limits, &sets->item[s], load);
    free(load);
    return true;
}
