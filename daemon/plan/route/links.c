#include "plan/route/links.h"

#include <math.h>

#include "cost/ends.h"
#include "cost/published_bound.h"
#include "node/gpu.h"
#include "plan/route/links_time.h"

bool plan_links_hop(const struct way_ends *ends, place_id from, place_id to, enum move_by by,
                    struct move *ret)
{
    if (!plan_pairs_move(ends->snap, ends->pairs, from, to, by, ret))
        return false;
    if (ends->both && !(ret->rate != NULL && plan_move_both(ends->snap, ret))) {
        ret->slowdown = plan_pairs_both(ends->snap, ret);
        const struct value *bound = published_bound_together(ends->snap, ret);
        if (bound != NULL)
            ret->slowdown = fmax(ret->slowdown, 2 * ret->bytes_per_s / bound->value);
    }
    return !isnan(ret->slowdown);
}

/* Whether bytes may stop there that go elsewhere. A NUMA node whose memory is a gpu's, too, is that
 * gpu. */
static bool may_stop(const struct way_ends *ends, place_id via, enum place_kind kind)
{
    const struct graph *graph = ends->graph;
    if (via == ends->from || via == ends->to || graph_place(graph, via)->kind != kind ||
        !plan_way_may_pass(ends, via))
        return false;
    return kind == PLACE_GPU ? !plan_ends_is_lost(ends->snap, via) && !gpu_is_cut(graph, via)
                             : gpu_apu_at(graph, via) == PLACE_NONE;
}

static bool may_copy(const struct graph *graph, place_id from, place_id to)
{
    return graph_place(graph, from)->kind != PLACE_GPU ||
           graph_place(graph, to)->kind != PLACE_GPU || !plan_ends_vendors_differ(graph, from, to);
}

/* All lanes of a way; not known where one hop's are not. */
static struct lanes lanes_of(const struct way_ends *ends, const struct way *way)
{
    struct lanes lanes = {.is_known = true};
    for (size_t i = 0; i < way->hop_count; i++)
        plan_lanes_add(&lanes, plan_pairs_lanes(ends->pairs, way->hop[i].from, way->hop[i].to));
    return lanes;
}

/* Whether it goes over all that the direct way goes over, as one through a gpu does that the
 * driver's way leads through: it is no other. */
static bool is_detour(const struct way_ends *ends, const struct way *way)
{
    const struct lanes *direct = plan_pairs_lanes(ends->pairs, ends->from, ends->to);
    struct lanes lanes = lanes_of(ends, way);
    uint64_t missing = 0;
    for (size_t i = 0; i < LANES_WORDS; i++)
        missing |= direct->bit[i] & ~lanes.bit[i];
    return direct->is_known && lanes.is_known && missing == 0;
}

static bool find_way(const struct way_ends *ends, place_id via, enum move_by by, struct way *ret)
{
    if (!may_copy(ends->graph, ends->from, via) || !may_copy(ends->graph, via, ends->to) ||
        !plan_links_hop(ends, ends->from, via, by, &ret->hop[0]) ||
        !plan_links_hop(ends, via, ends->to, by, &ret->hop[1]))
        return false;
    ret->pair[0] = plan_pairs_find(ends->pairs, ends->from, via, by);
    ret->pair[1] = plan_pairs_find(ends->pairs, via, ends->to, by);
    ret->hop_count = 2;
    return !is_detour(ends, ret);
}

size_t plan_links_ways(const struct way_ends *ends, enum move_by by, struct way *ret)
{
    const place_id *memory;
    size_t memories = plan_pairs_memories(ends->pairs, &memory), count = 0;
    for (size_t m = 0; m < memories && count < LINKS_WAYS_MAX; m++) {
        enum place_kind kind = graph_place(ends->graph, memory[m])->kind;
        if ((kind == PLACE_NUMA && by == MOVE_KERNEL) || !may_stop(ends, memory[m], kind) ||
            !find_way(ends, memory[m], by, &ret[count]))
            continue;
        count++;
    }
    return count;
}

const struct way *plan_links_fastest(const struct way_ends *ends, const struct way *ways,
                                     size_t count, enum place_kind kind)
{
    const struct way *best = NULL;
    double best_ns = INFINITY;
    for (size_t i = 0; i < count; i++) {
        double time_ns = graph_place(ends->graph, ways[i].hop[1].from)->kind == kind
                             ? plan_links_time(&ways[i], 1, ends->bytes, NULL, NULL).time_ns
                             : INFINITY;
        if (time_ns < best_ns) {
            best_ns = time_ns;
            best = &ways[i];
        }
    }
    return best;
}

/* The widest way that meets none of those lanes; NULL none. */
static const struct way *find_beside(const struct way_ends *ends, const struct way *ways,
                                     size_t count, const struct lanes *used)
{
    const struct way *best = NULL;
    for (size_t i = 0; i < count; i++) {
        struct lanes lanes = lanes_of(ends, &ways[i]);
        if ((best == NULL || plan_way_rate(&ways[i]) > plan_way_rate(best)) &&
            !plan_lanes_meet(&lanes, used))
            best = &ways[i];
    }
    return best;
}

size_t plan_links_beside(const struct way_ends *ends, const struct way *ways, size_t count,
                         struct way *way)
{
    struct lanes used = lanes_of(ends, &way[0]);
    size_t taken = 1, most = way[0].hop[0].by == MOVE_KERNEL ? WAY_KERNELS_MAX : SPLIT_WAYS_MAX;
    const struct way *next;
    while (taken < most && (next = find_beside(ends, ways, count, &used)) != NULL) {
        double share[SPLIT_WAYS_MAX];
        way[taken] = *next;
        (void)plan_links_time(way, taken + 1, ends->bytes, share, NULL);
        if (CHAIN_WORTH * plan_split_rate(way, taken + 1) <= plan_split_rate(way, taken) ||
            !plan_split_is_enough(share, taken + 1, ends->bytes))
            break;
        struct lanes lanes = lanes_of(ends, &way[taken++]);
        plan_lanes_add(&used, &lanes);
    }
    return taken;
}
