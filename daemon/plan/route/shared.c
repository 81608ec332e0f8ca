#include "plan/route/shared.h"

#include <string.h>

#include "cost/limits.h"

/* Where an option's hops, and what goes back over them, use it. */
struct uses {
    place_id from[2 * ROUTE_WAYS_MAX * WAY_HOPS_MAX], to[2 * ROUTE_WAYS_MAX * WAY_HOPS_MAX];
    size_t count;
};

static void list(const struct snapshot *snap, const struct route_option *option, bool both,
                 const struct limit *found, struct uses *ret)
{
    ret->count = 0;
    for (size_t w = 0; w < option->way_count; w++)
        for (size_t i = 0; i < option->way[w].hop_count; i++) {
            const struct move *hop = &option->way[w].hop[i];
            bool is_its = hop->rate != NULL &&
                          plan_move_kind(snap->graph, hop) == transfer_kind_of(found->metric);
            for (int back = 0; is_its && back < (both ? 2 : 1); back++) {
                place_id from = back ? hop->to : hop->from, to = back ? hop->from : hop->to;
                if (limits_uses(snap->derived.limits, found, from, to,
                                values_axes(snap->values, hop->rate))) {
                    ret->from[ret->count] = from;
                    ret->to[ret->count++] = to;
                }
            }
        }
}

static size_t how_many_in(const struct uses *uses, const struct set *set)
{
    size_t count = 0;
    for (size_t i = 0; i < uses->count; i++)
        for (size_t f = 0; f < set->flow_count; f++)
            count += set->flow[f].from == uses->from[i] && set->flow[f].to == uses->to[i];
    return count;
}

static size_t distance(size_t a, size_t b) { return a > b ? a - b : b - a; }

/* The set with the most of the option's transfers; of such that with as many users as the option
 * has, or nearly. */
static void look(const struct snapshot *snap, const struct route_option *option, bool both,
                 const struct limit *found, struct route_shared *ret)
{
    struct uses uses;
    size_t most = 1;
    list(snap, option, both, found, &uses);
    for (size_t s = 0; uses.count > 0 && snap->sets != NULL && s < snap->sets->count; s++) {
        const struct set *set = &snap->sets->item[s];
        struct route_shared its = {.set = set};
        size_t has =
            set->metric == found->metric && set->source == VALUE_MEASURED && set->flow_count > 1
                ? how_many_in(&uses, set)
                : 0;
        if (has < most)
            continue;
        for (size_t f = 0; f < set->flow_count; f++)
            if (limits_uses(snap->derived.limits, found, set->flow[f].from, set->flow[f].to,
                            set->flow[f].axes)) {
                its.users++;
                its.bytes_per_s += set->flow[f].bytes_per_s;
            }
        if (its.users < 2 || (has == most && ret->set != NULL &&
                              distance(its.users, uses.count) >= distance(ret->users, uses.count)))
            continue;
        most = has;
        *ret = its;
    }
}

struct route_shared plan_route_shared(const struct snapshot *snap,
                                      const struct route_option *option, bool both)
{
    const struct limits *limits = snap->derived.limits;
    struct route_shared shared = {.set = NULL};
    for (size_t i = 0; i < limits->count && shared.set == NULL; i++) {
        const struct limit *limit = &limits->item[i];
        if (strcmp(limit->name, option->shared) != 0)
            continue;
        if (limit->source == LIMIT_RUNS)
            look(snap, option, both, limit, &shared);
        else
            shared.bytes_per_s = limit->step[0].bytes_per_s;
    }
    return shared;
}
