#include "plan/route/chain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/route/source.h"

/* Every set of what eight gpus have between two of them. */
#define WITHOUT_MAX 6
#define TRIES       64

#define MANY_BYTES 1073741824.0 /* where starting counts for nothing */

/* Through the host, one gpu and two, by the mechanism of those before: the fastest that finds room
 * beside them. */
static bool find_next(const struct way_ends *ends, enum way_through longest, const struct way *way,
                      size_t count, struct way *ret)
{
    struct way_room room;
    double best_ns = INFINITY;
    bool found = false;
    enum move_by by = way[0].hop[0].by;
    plan_share_room(ends, way, count, &room);
    if (!room.used.is_known)
        return false;
    for (int through = by == MOVE_COPY_ENGINE ? WAY_HOST : WAY_GPU; through <= (int)longest;
         through++) {
        struct way next;
        if (!plan_way_through(ends, (enum way_through)through, by, &room, best_ns, &next))
            continue;
        best_ns = plan_way_time_ns(&next, ends->bytes, 0, NULL);
        *ret = next;
        found = true;
    }
    return found;
}

/* Ways that are taken one after the other, and all sets of them that were found. */
struct chain {
    struct way_ends ends;          /* for very many bytes, without some gpus */
    place_id without[WITHOUT_MAX]; /* of ends */
    struct way first;
    struct chain_set *set; /* owned */
    size_t count, room, with_direct;
    unsigned tried; /* sets of gpus left out */
    bool is_short;  /* of memory */
};

static double rate_of(const struct way *way, size_t count)
{
    double rate = 0;
    for (size_t i = 0; i < count; i++)
        rate += plan_way_rate(&way[i]);
    return rate;
}

/* Half of what a call takes more than a queued transfer, for each hop that waits for the one before
 * and of which nobody measured that: an engine looks for such an end now and then, as much sooner
 * or later than counted. */
static double late_ns(const struct way *way)
{
    double ns = 0;
    for (size_t i = 1; i < way->hop_count; i++) {
        const struct move *hop = &way->hop[i];
        if (isnan(hop->t0_behind_ns) && !isnan(hop->t0_call_ns))
            ns += fmax(hop->t0_call_ns - plan_move_start_ns(hop), 0) / 2;
    }
    return ns;
}

double plan_chain_waiting_ns(const struct way *way, size_t count)
{
    double ns = 0, most_ns = 0;
    for (size_t i = 0; i < count && count > 1; i++) {
        const struct move *last = &way[i].hop[way[i].hop_count - 1];
        double end_ns = !isnan(last->t0_end_ns)   ? last->t0_end_ns
                        : isnan(last->t0_call_ns) ? 0
                                                  : last->t0_call_ns;
        ns += i > 0 ? end_ns : 0;
        most_ns = fmax(most_ns, late_ns(&way[i]));
    }
    return ns + most_ns;
}

/* What a way takes besides moving its bytes at its rate: the call, and a piece over each hop but
 * one. */
static double least_start_ns(const struct way *way)
{
    double all_ns = 0, most_ns = 0;
    for (size_t i = 0; i < way->hop_count; i++) {
        all_ns += (i > 0 ? way->pair[i]->behind_more_ns : way->pair[i]->more_ns) +
                  way->pair[i]->queued_ns[0];
        most_ns = fmax(most_ns, way->pair[i]->queued_ns[0]);
    }
    return all_ns - most_ns;
}

double plan_chain_least_ns(const struct way *way, size_t count)
{
    double before_ns = 0, bytes = 0;
    for (size_t w = 0; w < count; w++) {
        bytes += plan_way_rate(&way[w]) * (least_start_ns(&way[w]) + before_ns);
        before_ns += plan_way_launch_ns(&way[w]);
    }
    return bytes / rate_of(way, count) + plan_chain_waiting_ns(way, count);
}

static struct chain_set set_of(const struct way_ends *ends, const struct way *way, size_t count,
                               enum move_by first, const char *shared)
{
    struct chain_set set = {
        .count = count,
        .may_lead = plan_source_may_lead(way, count, plan_source_is_together(ends, way, count),
                                         SOURCE_MEASURED),
        .first = first,
        .has_direct = way->hop_count == 1,
        .rate = rate_of(way, count),
        .waiting_ns = plan_chain_waiting_ns(way, count),
        .least_ns = plan_chain_least_ns(way, count),
        .shared = shared};
    for (size_t w = 0; w < count; w++) {
        set.way[w].hop_count = way[w].hop_count;
        for (size_t i = 0; i < way[w].hop_count; i++) {
            set.way[w].pair[i] = way[w].pair[i];
            set.way[w].slowdown[i] = way[w].hop[i].slowdown;
            set.way[w].is_slowed_by_guess[i] = way[w].hop[i].is_slowed_by_guess;
        }
    }
    return set;
}

static bool is_same_way(const struct chain_way *a, const struct chain_way *b)
{
    bool same = a->hop_count == b->hop_count;
    for (size_t i = 0; same && i < a->hop_count; i++)
        same = a->pair[i] == b->pair[i] && a->slowdown[i] == b->slowdown[i];
    return same;
}

static bool is_same(const struct chain_set *a, const struct chain_set *b)
{
    bool same = a->count == b->count && a->first == b->first;
    for (size_t w = 0; same && w < a->count; w++)
        same = is_same_way(&a->way[w], &b->way[w]);
    return same;
}

static void note(struct chain *chain, const struct way *way, size_t count, enum move_by first,
                 const char *shared)
{
    struct chain_set set = set_of(&chain->ends, way, count, first, shared);
    for (size_t i = 0; i < chain->count; i++)
        if (is_same(&chain->set[i], &set))
            return;
    if (chain->count == chain->room) {
        size_t room = chain->room > 0 ? 2 * chain->room : 8;
        struct chain_set *more = realloc(chain->set, room * sizeof *more);
        chain->is_short = chain->is_short || more == NULL;
        if (more == NULL)
            return;
        chain->set = more;
        chain->room = room;
    }
    chain->set[chain->count++] = set;
}

/* Gpus; more than those between eight ways are not looked at. */
struct gpus {
    place_id gpu[2 * SHARE_WAYS_MAX];
    size_t count;
};

static void add_gpu(struct gpus *gpus, place_id gpu)
{
    for (size_t i = 0; i < gpus->count; i++)
        if (gpus->gpu[i] == gpu)
            return;
    if (gpus->count < sizeof gpus->gpu / sizeof gpus->gpu[0])
        gpus->gpu[gpus->count++] = gpu;
}

static void add_between(const struct graph *graph, const struct way *way, struct gpus *gpus)
{
    for (size_t i = 1; i < way->hop_count; i++)
        if (graph_place(graph, way->hop[i].from)->kind == PLACE_GPU)
            add_gpu(gpus, way->hop[i].from);
}

/* Those through two gpus, which may use up what two others might have used, beside all others or
 * after them. Whether there was one of them. ret_between: and the gpus that any lead through, also
 * the one that was too little to be taken and with which it ended. */
static bool follow(struct chain *chain, bool last, struct gpus *ret_between)
{
    struct way way[SHARE_WAYS_MAX];
    double rate = plan_way_rate(&chain->first);
    enum way_through longest = last ? WAY_GPU : WAY_TWO_GPUS;
    bool any = false;
    way[0] = chain->first;
    for (size_t count = 2; count <= SHARE_WAYS_MAX;) {
        const char *shared;
        bool is_found = find_next(&chain->ends, longest, way, count - 1, &way[count - 1]);
        if (is_found)
            add_between(chain->ends.graph, &way[count - 1], ret_between);
        bool is_better = is_found && plan_share_ways(&chain->ends, way, count, &shared) &&
                         CHAIN_WORTH * rate_of(way, count) > rate;
        if (!is_better && longest == WAY_TWO_GPUS)
            break;
        if (!is_better) {
            longest = WAY_TWO_GPUS;
            (void)plan_share_ways(&chain->ends, way, count - 1, &shared);
            continue;
        }
        rate = rate_of(way, count);
        any = any || way[count - 1].hop_count == WAY_HOPS_MAX;
        note(chain, way, count++, chain->first.hop[0].by, shared);
    }
    return any;
}

/* With all gpus but those left out already; and then, in turn, without each of those that matter,
 * but the kept ones. So every set of gpus is tried, each once: where one that does not matter is
 * missing the ways are the same. */
static void search(struct chain *chain, struct gpus kept)
{
    struct gpus between = kept;
    chain->tried++;
    if (follow(chain, false, &between))
        (void)follow(chain, true, &between);
    for (size_t i = kept.count; i < between.count && !chain->is_short; i++) {
        if (chain->tried == TRIES || chain->ends.without_count == WITHOUT_MAX)
            return;
        chain->without[chain->ends.without_count++] = between.gpu[i];
        search(chain, kept);
        chain->ends.without_count--;
        add_gpu(&kept, between.gpu[i]);
    }
}

static void way_of(const struct chain_way *its, bool both, struct way *ret)
{
    ret->hop_count = its->hop_count;
    for (size_t i = 0; i < its->hop_count; i++) {
        ret->pair[i] = its->pair[i];
        ret->hop[i] = both ? its->pair[i]->both : its->pair[i]->move;
        ret->hop[i].slowdown = its->slowdown[i];
        ret->hop[i].is_slowed_by_guess = its->is_slowed_by_guess[i];
    }
}

/* Beside that direct way. */
static void search_beside(struct chain *chain, const struct way *first)
{
    chain->ends.both_is_known = chain->ends.both && plan_way_knows_both(first);
    chain->first = *first;
    chain->tried = 0;
    search(chain, (struct gpus){.count = 0});
}

/* By copy engines and by kernels, each alone: what both get at once nobody measures. */
static void search_all(struct chain *chain, bool kernels)
{
    struct way first;
    if (plan_way_direct(&chain->ends, MOVE_COPY_ENGINE, &first))
        search_beside(chain, &first);
    if (kernels && plan_way_direct(&chain->ends, MOVE_KERNEL, &first))
        search_beside(chain, &first);
}

/* Numbers the ways of all sets, each once; ret_ways has room for all. How many there are. */
static size_t number_ways(struct chain *chain, const struct chain_way **ret_ways)
{
    size_t count = 0;
    for (size_t s = 0; s < chain->count; s++)
        for (size_t w = 0; w < chain->set[s].count; w++) {
            struct chain_way *way = &chain->set[s].way[w];
            way->reach = 0;
            while (way->reach < count && !is_same_way(ret_ways[way->reach], way))
                way->reach++;
            if (way->reach == count)
                ret_ways[count++] = way;
        }
    return count;
}

/* NULL: no memory. */
static struct chain_list *list_of(struct chain *chain)
{
    const struct chain_way **ways =
        chain->is_short ? NULL : malloc((chain->count * SHARE_WAYS_MAX + 1) * sizeof *ways);
    size_t count = ways != NULL ? number_ways(chain, ways) : 0,
           sets = chain->count * sizeof *chain->set;
    struct chain_list *list =
        ways != NULL ? malloc(sizeof *list + sets + count * sizeof *list->reach) : NULL;
    if (list != NULL) {
        struct way_reach *reach = (void *)((char *)list->set + sets);
        for (size_t i = 0; i < count; i++) {
            struct way way;
            way_of(ways[i], chain->ends.both, &way);
            plan_way_reach(&way, &reach[i]);
        }
        list->reach = reach;
        list->count = chain->count;
        list->with_direct = chain->with_direct;
        if (chain->count > 0)
            memcpy(list->set, chain->set, sets);
    }
    free(ways);
    return list;
}

/* Whether both are one way beside the same direct one. */
static bool are_beside(const struct chain_set *a, const struct chain_set *b)
{
    return a->count == 2 && b->count == 2 && a->way[0].pair[0] == b->way[0].pair[0];
}

/* The way beside the direct one, as alone. */
static void other_of(const struct chain *chain, const struct chain_set *set, struct way *ret)
{
    way_of(&set->way[1], chain->ends.both, ret);
    for (size_t i = 0; i < ret->hop_count; i++)
        ret->hop[i].slowdown = chain->ends.both ? ret->pair[i]->both.slowdown : 1;
}

/* The ways beside a direct one, each two without it; the faster one first. */
static void pair_others(struct chain *chain)
{
    size_t count = chain->count;
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++) {
            struct way one, other;
            struct way_room room;
            const char *shared;
            if (!are_beside(&chain->set[i], &chain->set[k]))
                continue;
            other_of(chain, &chain->set[i], &one);
            other_of(chain, &chain->set[k], &other);
            double rate = plan_way_rate(&one), its = plan_way_rate(&other);
            struct way way[] = {rate >= its ? one : other, rate >= its ? other : one};
            plan_share_room(&chain->ends, way, 1, &room);
            if (room.used.is_known && plan_way_fits(&chain->ends, &way[1], &room) &&
                plan_share_ways(&chain->ends, way, 2, &shared) &&
                CHAIN_WORTH * rate_of(way, 2) > fmax(rate, its))
                note(chain, way, 2, chain->set[i].first, shared);
        }
}

struct chain_list *plan_chain_list(const struct way_ends *ends, bool kernels)
{
    struct chain chain;
    chain.ends = *ends; /* places to be left out need not be anything yet */
    chain.ends.bytes = MANY_BYTES;
    chain.ends.without = chain.without;
    chain.set = NULL;
    chain.count = chain.room = 0;
    chain.is_short = false;
    search_all(&chain, kernels);
    chain.with_direct = chain.count;
    pair_others(&chain);
    struct chain_list *list = list_of(&chain);
    free(chain.set);
    return list;
}

void plan_chain_ways(const struct chain_set *set, bool both, struct way *ret)
{
    for (size_t w = 0; w < set->count; w++)
        way_of(&set->way[w], both, &ret[w]);
}

double plan_chain_reach(const struct chain_list *list, const struct chain_set *set, double time_ns)
{
    double left_ns = time_ns - set->waiting_ns, bytes = 0;
    for (size_t w = 0; w < set->count; w++) { /* each begins when those before it were started */
        const struct way_reach *reach = &list->reach[set->way[w].reach];
        bytes += plan_way_reach_bytes(reach, left_ns);
        left_ns -= reach->launch_ns;
    }
    return bytes;
}
