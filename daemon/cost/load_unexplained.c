#include "cost/load_unexplained.h"

#include <math.h>

#include "cost/limits.h"
#include "cost/policy.h"

/* The step's transfer that the set's flow is; count: none. */
static size_t find_flow(const struct load_scratch *scratch, size_t count, unsigned kind,
                        const struct set_flow *flow)
{
    for (size_t i = 0; i < count; i++) {
        const struct load_ride *ride = scratch->ride[i];
        if (ride != NULL && ride->kind == kind && ride->move.from == flow->from &&
            ride->move.to == flow->to)
            return i;
    }
    return count;
}

/* Which of the set's flows the step has; of how many what they were measured to get together
 * decides. */
struct common {
    bool has[SETS_FLOWS_MAX];
    size_t count, seen;
};

static struct common common_of(const struct set *set, const struct load_flow *flows, size_t count,
                               const struct load_scratch *scratch)
{
    unsigned kind = transfer_kind_of(set->metric);
    struct common common = {.count = 0};
    for (size_t i = 0; kind != 0 && i < set->flow_count && i < SETS_FLOWS_MAX; i++) {
        size_t at = find_flow(scratch, count, kind, &set->flow[i]);
        common.has[i] = at < count && flows[at].bytes > 0;
        common.count += common.has[i];
        common.seen += common.has[i] && scratch->run[at] != NULL;
    }
    return common;
}

static bool has_flow(const struct set *set, const struct common *common,
                     const struct set_flow *flow)
{
    bool has = false;
    for (size_t i = 0; i < set->flow_count && !has; i++)
        has = common->has[i] && set->flow[i].from == flow->from && set->flow[i].to == flow->to;
    return has;
}

/* Whether just those flows were measured together as well, and are explained. */
static bool is_known_apart(const struct limits *limits, const struct sets *sets,
                           const struct set *set, const struct common *common)
{
    for (size_t s = 0; s < limits->run_count; s++) {
        const struct set *other = &sets->item[s];
        bool same = other->metric == set->metric && other->flow_count == common->count &&
                    limits->run[s].is_reproduced;
        for (size_t i = 0; i < other->flow_count && same; i++)
            same = has_flow(set, common, &other->flow[i]);
        if (same)
            return true;
    }
    return false;
}

/* Whether all flows get together what is expected, though not each of them. */
static bool is_uneven(const struct set *set, const struct limits_run *explained)
{
    double got = 0, expected = 0;
    for (size_t i = 0; i < set->flow_count; i++) {
        got += set->flow[i].bytes_per_s;
        expected += explained->predicted[i];
    }
    return fabs(expected - got) <= POLICY_SIMILAR * got;
}

size_t plan_load_unexplained(const struct load_table *table, const struct load_flow *flows,
                             size_t count, const struct load_scratch *scratch, bool uneven,
                             size_t first)
{
    const struct limits *limits = table->snap->derived.limits;
    const struct sets *sets = table->snap->sets;
    for (size_t s = first; sets != NULL && s < limits->run_count; s++) {
        const struct set *set = &sets->item[s];
        if (limits->run[s].predicted == NULL || limits->run[s].is_reproduced ||
            is_uneven(set, &limits->run[s]) != uneven)
            continue;
        struct common common = common_of(set, flows, count, scratch);
        bool is_whole = common.count == set->flow_count;
        if (common.count > common.seen &&
            (is_whole || (common.count > 1 && !is_known_apart(limits, sets, set, &common))))
            return s;
    }
    return LOAD_NO_SET;
}
