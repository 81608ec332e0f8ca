#include "plan/route/measured.h"

#include <math.h>
#include <string.h>

#include "cost/limits.h"
#include "cost/policy.h"
#include "node/transfer.h"
#include "plan/route/price.h"

static const struct set_flow *find_flow(const struct set *set, place_id from, place_id to,
                                        const char *axes)
{
    for (size_t f = 0; f < set->flow_count; f++)
        if (set->flow[f].from == from && set->flow[f].to == to &&
            strcmp(set->flow[f].axes, axes) == 0)
            return &set->flow[f];
    return NULL;
}

/* True for more than two transfers with the host, while as many bytes come back. */
static bool needs_back(const struct route_work *work, const struct measured_group *group)
{
    return work->request.both && group->count > 2 &&
           (group->metric == METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT ||
            group->metric == METRIC_HOST_GPU_KERNEL_CONCURRENT);
}

static bool has_all(const struct route_work *work, const struct set *set,
                    const struct measured_group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        const struct transfer *hop = group->hop[i];
        if (hop->basis != BASIS_OWN || find_flow(set, hop->from, hop->to, hop->axes) == NULL ||
            (needs_back(work, group) && find_flow(set, hop->to, hop->from, hop->axes) == NULL))
            return false;
    }
    return true;
}

/* The smallest run with all of them; both directions of more than two where these are asked for.
 * NULL none. */
static const struct set *find_run(const struct route_work *work, const struct measured_group *group)
{
    const struct sets *sets = work->snap->sets;
    for (size_t s = 0; sets != NULL && s < sets->count; s++) {
        const struct set *set = &sets->item[s];
        if (set->metric == group->metric && set->source == VALUE_MEASURED &&
            set->flow_count >= group->count && has_all(work, set, group))
            return set;
    }
    return NULL;
}

static enum metric run_metric(unsigned kind)
{
    return kind == TRANSFER_HOST_ENGINE   ? METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT
           : kind == TRANSFER_HOST_KERNEL ? METRIC_HOST_GPU_KERNEL_CONCURRENT
           : kind == TRANSFER_PEER_ENGINE ? METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT
                                          : METRIC_GPU_GPU_KERNEL_CONCURRENT;
}

/* True when both go from one gpu to the host, or from the host to one gpu. */
static bool share_host_link(const struct transfer *a, const struct transfer *b)
{
    bool with_host = !transfer_is_peer(a) && !transfer_is_peer(b) && a->driver == b->driver;
    return with_host && (a->from == a->driver) == (b->from == b->driver);
}

/* Adds the concurrent transfers over the same links to the host. */
static void add_concurrent(const struct route_work *work, struct measured_group *group)
{
    for (size_t k = 0; k < work->request.concurrent_count; k++) {
        struct transfer *transfer = (struct transfer *)&work->concurrent[k];
        bool shares = false;
        for (size_t i = 0; i < group->own; i++)
            shares = shares || share_host_link(group->hop[i], transfer);
        if (shares) {
            group->hop[group->count++] = transfer;
            group->busy++;
        }
    }
}

/* Groups hops by kind. Returns the number of groups. */
static size_t group_hops(const struct route_work *work, struct route_option *option,
                         struct measured_group *ret)
{
    size_t groups = 0;
    for (size_t p = 0; p < option->part_count; p++) {
        struct route_part *part = &option->part[p];
        double rate = INFINITY;
        for (size_t i = 0; i < part->hop_count; i++)
            rate = fmin(rate, price_hop_rate(&part->hop[i]));
        for (size_t i = 0; i < part->hop_count; i++) {
            enum metric metric = run_metric(part->hop[i].kind);
            size_t g = 0;
            while (g < groups && ret[g].metric != metric)
                g++;
            if (g == groups)
                ret[groups++] = (struct measured_group){.metric = metric};
            ret[g].own++;
            ret[g].rate[ret[g].count] = rate;
            ret[g].hop[ret[g].count++] = &part->hop[i];
            ret[g].busy += rate / price_hop_rate(&part->hop[i]);
        }
    }
    for (size_t g = 0; g < groups; g++)
        add_concurrent(work, &ret[g]);
    return groups;
}

size_t measured_missing(const struct route_work *work, struct route_option *option,
                        struct measured_group *ret, size_t most)
{
    struct measured_group group[TRANSFER_KINDS];
    size_t groups = route_is_direct(option) ? 0 : group_hops(work, option, group), missing = 0;
    for (size_t g = 0; g < groups; g++)
        if (missing < most && group[g].count > 1 && group[g].busy > 1 + POLICY_SAME &&
            find_run(work, &group[g]) == NULL)
            ret[missing++] = group[g];
    return missing;
}

size_t measured_users(const struct route_work *work, const struct limit *limit,
                      const struct set *run)
{
    size_t users = 0;
    if (limit->source != LIMIT_RUNS || limit->metric != run->metric)
        return 0;
    for (size_t f = 0; f < run->flow_count; f++)
        users += limits_uses(work->snap->derived.limits, limit, run->flow[f].from, run->flow[f].to,
                             run->flow[f].axes);
    return users;
}

/* Returns the limit that most flows of a run share; NULL none. */
static const struct limit *limit_of_run(const struct route_work *work, const struct set *run)
{
    const struct limits *limits = work->snap->derived.limits;
    const struct limit *found = NULL;
    size_t most = 1;
    for (size_t i = 0; i < limits->count; i++) {
        size_t users = measured_users(work, &limits->item[i], run);
        found = users > most ? &limits->item[i] : found;
        most = users > most ? users : most;
    }
    return found;
}

/* Slows hops to their rates in that run. Returns the greatest factor on the time of a part. */
static double take_run(const struct measured_group *group, const struct set *run)
{
    double most = 1;
    for (size_t i = 0; i < group->own; i++) {
        struct transfer *hop = group->hop[i];
        double rate = find_flow(run, hop->from, hop->to, hop->axes)->bytes_per_s,
               slower = price_hop_rate(hop) / rate;
        hop->slowdown *= slower > 1 + POLICY_SAME ? slower : 1;
        most = fmax(most, group->rate[i] / rate);
    }
    return most;
}

/* Slows hops to their rates in the runs of all of their kind. */
static void take_runs(const struct route_work *work, struct route_option *option)
{
    struct measured_group group[TRANSFER_KINDS];
    size_t groups = group_hops(work, option, group);
    double most = 1 + POLICY_SAME;
    for (size_t g = 0; g < groups; g++) {
        const struct set *run = group[g].count > 1 ? find_run(work, &group[g]) : NULL;
        if (run == NULL)
            continue;
        double slower = take_run(&group[g], run);
        if (!(slower > most))
            continue;
        most = slower;
        option->run = run;
        option->shared = limit_of_run(work, run);
    }
}

void measured_find(const struct route_work *work, struct route_option *option)
{
    struct measured_group missing;
    bool is_alone = work->request.concurrent_count == 0 && !work->request.both;
    option->shared = NULL;
    option->run = NULL;
    option->source = SOURCE_MEASURED;
    option->knows_size = option->knows_both = true;
    for (size_t p = 0; p < option->part_count; p++)
        for (size_t i = 0; i < option->part[p].hop_count; i++) {
            const struct transfer *hop = &option->part[p].hop[i];
            option->source = estimate_worse(option->source, hop->source);
            option->knows_both = option->knows_both && (!work->request.both || hop->both != NULL ||
                                                        hop->both_set != NULL);
            option->knows_size = option->knows_size && hop->basis == BASIS_OWN &&
                                 (!route_is_direct(option) || work->bytes >= hop->least_bytes);
        }
    option->is_together = measured_missing(work, option, &missing, 1) == 0;
    if (option->is_together && option->source == SOURCE_MEASURED && is_alone)
        take_runs(work, option);
}
