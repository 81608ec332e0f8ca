#include "plan/route/source.h"

#include <stdio.h>
#include <string.h>

#define HOPS (8 * WAY_HOPS_MAX)
/* of its time: a gpu that is busy no longer could make its copies one after the other */
#define IN_TURNS    1.01
#define METRICS_MAX 4

/* Some hops of an option's ways. */
struct hops {
    const struct way *way[HOPS];
    const struct move *hop[HOPS];
    size_t count;
};

static bool is_gpu(const struct graph *graph, place_id id)
{
    return graph_place(graph, id)->kind == PLACE_GPU;
}

static enum source source_of(const struct value *value)
{
    return value->source == VALUE_MEASURED    ? SOURCE_MEASURED
           : value->source == VALUE_PUBLISHED ? SOURCE_PUBLISHED
                                              : SOURCE_NOMINAL;
}

enum source plan_source_of(const struct move *move)
{
    if (move->rate != NULL)
        return source_of(move->rate);
    if (plan_move_is_back(move))
        return source_of(move->most);
    return plan_move_is_engines(move) ? SOURCE_PUBLISHED : SOURCE_NOMINAL;
}

enum source plan_source_of_ways(const struct way *way, size_t count)
{
    enum source least = SOURCE_MEASURED;
    for (size_t w = 0; w < count; w++)
        for (size_t i = 0; i < way[w].hop_count; i++) {
            enum source its = plan_source_of(&way[w].hop[i]);
            least = its > least ? its : least;
        }
    return least;
}

static bool has_flow(const struct set *set, const struct move *hop, const char *axes)
{
    for (size_t f = 0; f < set->flow_count; f++)
        if (set->flow[f].from == hop->from && set->flow[f].to == hop->to &&
            strcmp(set->flow[f].axes, axes) == 0)
            return true;
    return false;
}

/* Whether one concurrent run has all of them. */
static bool were_together(const struct way_ends *ends, const struct hops *hops)
{
    const struct sets *sets = ends->snap->sets;
    for (size_t s = 0; sets != NULL && s < sets->count; s++) {
        const struct set *set = &sets->item[s];
        bool has_all = set->source == VALUE_MEASURED && set->flow_count >= hops->count;
        for (size_t i = 0; has_all && i < hops->count; i++) {
            const struct move *hop = hops->hop[i];
            has_all = hop->rate != NULL &&
                      transfer_kind_of(set->metric) == plan_move_kind(ends->graph, hop) &&
                      has_flow(set, hop, values_axes(ends->snap->values, hop->rate));
        }
        if (has_all)
            return true;
    }
    return false;
}

/* Those of one gpu's engine, or kernels, of which the first is that one. An engine that copies with
 * the host and one that copies between gpus are two; kernels share a gpu whatever they copy. */
static struct hops of_driver(const struct way_ends *ends, const struct hops *all, size_t first)
{
    const struct move *its = all->hop[first];
    struct hops hops = {.count = 0};
    for (size_t i = 0; i < all->count; i++) {
        const struct move *hop = all->hop[i];
        if (hop->driver != its->driver || hop->by != its->by ||
            (hop->by == MOVE_COPY_ENGINE &&
             plan_move_kind(ends->graph, hop) != plan_move_kind(ends->graph, its)))
            continue;
        hops.way[hops.count] = all->way[i];
        hops.hop[hops.count++] = hop;
    }
    return hops;
}

/* What part of the time it copies, if it made its copies one after the other, while each way moves
 * as fast as its slowest hop. */
static double busy(const struct hops *hops)
{
    double part = 0;
    for (size_t i = 0; i < hops->count; i++)
        part += plan_way_rate(hops->way[i]) /
                (plan_way_hop_rate(hops->hop[i]) * hops->hop[i]->slowdown);
    return part;
}

static struct hops of_memory(const struct way_ends *ends, const struct hops *all, place_id numa)
{
    struct hops hops = {.count = 0};
    for (size_t i = 0; i < all->count; i++)
        if ((all->hop[i]->from == numa || all->hop[i]->to == numa) && !is_gpu(ends->graph, numa)) {
            hops.way[hops.count] = all->way[i];
            hops.hop[hops.count++] = all->hop[i];
        }
    return hops;
}

static struct hops all_of(const struct way *way, size_t count)
{
    struct hops all = {.count = 0};
    for (size_t w = 0; w < count; w++)
        for (size_t i = 0; i < way[w].hop_count && all.count < HOPS; i++) {
            all.way[all.count] = &way[w];
            all.hop[all.count++] = &way[w].hop[i];
        }
    return all;
}

/* Whether what that hop shares with others was measured. */
static bool is_together(const struct way_ends *ends, const struct hops *all, size_t i)
{
    const struct move *hop = all->hop[i];
    const struct hops by_driver = of_driver(ends, all, i),
                      at_from = of_memory(ends, all, hop->from),
                      at_to = of_memory(ends, all, hop->to);
    bool in_turns = hop->by == MOVE_COPY_ENGINE && busy(&by_driver) <= IN_TURNS;
    return (by_driver.count < 2 || in_turns || were_together(ends, &by_driver)) &&
           (at_from.count < 2 || were_together(ends, &at_from)) &&
           (at_to.count < 2 || were_together(ends, &at_to));
}

bool plan_source_is_together(const struct way_ends *ends, const struct way *way, size_t count)
{
    const struct hops all = all_of(way, count);
    for (size_t i = 0; i < all.count && all.count > 1; i++)
        if (!is_together(ends, &all, i))
            return false;
    return true;
}

/* Both go from one gpu to the host, or from the host to one gpu. */
static bool share_host_link(const struct graph *graph, const struct move *a, const struct move *b)
{
    bool in = !is_gpu(graph, a->from) && !is_gpu(graph, b->from) && a->to == b->to;
    bool out = !is_gpu(graph, a->to) && !is_gpu(graph, b->to) && a->from == b->from;
    return in || out;
}

bool plan_source_is_beside(const struct way_ends *ends, const struct way *way, size_t count,
                           const struct move *other, size_t other_count)
{
    const struct hops all = all_of(way, count);
    for (size_t i = 0; i < all.count; i++)
        for (size_t k = 0; k < other_count; k++) {
            const struct hops both = {.count = 2, .hop = {all.hop[i], &other[k]}};
            if (share_host_link(ends->graph, all.hop[i], &other[k]) && !were_together(ends, &both))
                return false;
        }
    return true;
}

bool plan_source_may_lead(const struct way *way, size_t count, bool is_together, enum source direct)
{
    enum source its = plan_source_of_ways(way, count);
    bool is_direct = count == 1 && way->hop_count == 1;
    return is_direct ? its <= direct : its == SOURCE_MEASURED && is_together;
}

/* ---- what is worth measuring ---- */

static void add_metric(const char *name, const char **names, size_t *count)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp(names[i], name) == 0)
            return;
    if (*count < METRICS_MAX)
        names[(*count)++] = name;
}

static enum metric metric_together(const struct way_ends *ends, const struct move *hop)
{
    bool peers = is_gpu(ends->graph, hop->from) && is_gpu(ends->graph, hop->to);
    if (hop->by == MOVE_COPY_ENGINE)
        return peers ? METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT
                     : METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT;
    return peers ? METRIC_GPU_GPU_KERNEL_CONCURRENT : METRIC_HOST_GPU_KERNEL_CONCURRENT;
}

void plan_source_command(const struct way_ends *ends, const struct way *way, size_t count,
                         char text[SOURCE_COMMAND_SIZE])
{
    const struct hops all = all_of(way, count);
    const char *names[METRICS_MAX] = {NULL};
    size_t named = 0;
    for (size_t i = 0; i < all.count; i++)
        if (plan_source_of(all.hop[i]) != SOURCE_MEASURED)
            add_metric(metric_info(plan_move_metric(ends->graph, all.hop[i]))->name, names, &named);
    size_t alone = named;
    for (size_t i = 0; i < all.count && all.count > 1; i++)
        if (!is_together(ends, &all, i))
            add_metric(metric_info(metric_together(ends, all.hop[i]))->name, names, &named);
    size_t used = (size_t)snprintf(text, SOURCE_COMMAND_SIZE, "%s",
                                   named == 0       ? ""
                                   : named == alone ? "berth probe"
                                                    : "berth probe --full");
    for (size_t i = 0; i < named && used < SOURCE_COMMAND_SIZE; i++)
        used += (size_t)snprintf(text + used, SOURCE_COMMAND_SIZE - used, " %s", names[i]);
}
