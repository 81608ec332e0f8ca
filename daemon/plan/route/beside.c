#include "plan/route/beside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/route/option.h"
#include "plan/route/order.h"

/* what several ways take alone is no more than so much of what they take beside others: their
 * shares are not the best to the last byte */
#define ROUGHLY 1.05

#define SAME 1e-9 /* such a difference is the numbers' */

/* Something to weigh: a way through other memories, or a set of ways with its direct one or
 * without. */
struct candidate {
    struct way way; /* where there is no set */
    const struct chain_set *set;
    bool is_without_direct;
    double least_ns; /* it takes no less */
    double rate;     /* nor do very many bytes get more */
};

struct candidates {
    struct candidate *item; /* owned */
    size_t count, room;
};

/* One of the candidates, and what it takes beside the others; INFINITY: none yet. */
struct found {
    size_t index;
    double time_ns;
};

struct beside {
    struct route_work *work;
    struct route_work quiet; /* the same, whose warnings nobody reads */
    struct route_answer unread;
    struct route_option direct; /* what all others are compared with */
    bool has_direct;
    struct candidates candidates;
    const struct chain_list *list; /* of the sets among them */
    struct found lead, any;        /* the fastest that may lead, and the fastest */
    struct berth_err *err;
    enum berth_code code;
};

static void add(struct beside *beside, const struct candidate *one)
{
    struct candidates *candidates = &beside->candidates;
    if (candidates->count == candidates->room && beside->code == BERTH_OK) {
        size_t room = candidates->room > 0 ? 2 * candidates->room : 64;
        struct candidate *more = realloc(candidates->item, room * sizeof *more);
        if (more == NULL) {
            beside->code = err_set(beside->err, BERTH_NO_MEMORY, "no memory for paths");
            return;
        }
        candidates->item = more;
        candidates->room = room;
    }
    if (beside->code == BERTH_OK)
        candidates->item[candidates->count++] = *one;
}

/* ---- the best of the candidates ---- */

static bool begin(const struct beside *beside, const struct candidate *candidate,
                  struct route_option *ret)
{
    const struct way_ends *ends = &beside->work->ends;
    struct way way[SHARE_WAYS_MAX];
    const char *shared = NULL;
    size_t count = 1;
    if (candidate->set == NULL) {
        way[0] = candidate->way;
        (void)plan_share_ways(ends, way, 1, &shared);
    } else {
        plan_chain_ways(candidate->set, ends->both, way);
        count = candidate->set->count;
        shared = candidate->set->shared;
    }
    if (candidate->is_without_direct) {
        memmove(way, way + 1, --count * sizeof *way);
        if (!plan_share_ways(ends, way, count, &shared))
            return false;
    }
    plan_route_option_begin(beside->work, way, count, shared, ret);
    return true;
}

/* Whether it might be better than what was found, if it took no more than least_ns. */
static bool may_matter(const struct beside *beside, double rate, double least_ns)
{
    const struct route_option *direct = &beside->direct;
    bool may_lead = beside->has_direct && ROUTE_WORTH * rate > plan_split_rate(direct->way, 1) &&
                    least_ns * (1 + ROUTE_DOUBT) < direct->predicted.time_ns;
    return (may_lead && least_ns < beside->lead.time_ns) ||
           (beside->lead.time_ns == INFINITY && least_ns < beside->any.time_ns);
}

/* Whether all bytes may go by it within the time in which it would be better: beside others its
 * ways take no less than alone. */
static bool reaches(const struct beside *beside, const struct candidate *candidate)
{
    /* what the others get without the direct way may be more than with it */
    if (candidate->set == NULL || candidate->is_without_direct)
        return true;
    double lead_ns = beside->has_direct ? beside->direct.predicted.time_ns : INFINITY,
           limit_ns = beside->lead.time_ns < INFINITY ? beside->lead.time_ns
                                                      : fmax(beside->any.time_ns, lead_ns);
    return limit_ns == INFINITY || plan_chain_reach(beside->list, candidate->set, limit_ns) >=
                                       beside->work->ends.bytes * (1 - SAME);
}

static void weigh(struct beside *beside, size_t index)
{
    const struct candidate *candidate = &beside->candidates.item[index];
    struct route_option option;
    if (!may_matter(beside, candidate->rate, candidate->least_ns) || !reaches(beside, candidate) ||
        !begin(beside, candidate, &option) ||
        !may_matter(beside, candidate->rate, option.predicted.time_ns / ROUGHLY))
        return;
    beside->unread.warnings.count = 0;
    beside->code = plan_route_price_shared(&beside->quiet, &option, beside->err);
    const struct found found = {index, option.predicted.time_ns};
    if (beside->code != BERTH_OK ||
        !plan_split_is_enough(option.share, option.way_count, beside->work->ends.bytes))
        return;
    if (plan_route_order_may_lead(&option, beside->has_direct ? &beside->direct : NULL) &&
        found.time_ns < beside->lead.time_ns)
        beside->lead = found;
    if (found.time_ns < beside->any.time_ns)
        beside->any = found;
}

/* Those that take least first, of equals that which was found first. */
static int by_least(const void *a, const void *b)
{
    const struct candidate *x = *(const struct candidate *const *)a,
                           *y = *(const struct candidate *const *)b;
    return x->least_ns != y->least_ns ? (x->least_ns < y->least_ns ? -1 : 1) : x < y ? -1 : 1;
}

/* Adds the fastest candidate that may lead, or where there is none the fastest, if it takes less
 * than limit_ns; what it takes. */
static double add_best(struct beside *beside, double limit_ns)
{
    struct route_answer *answer = beside->work->answer;
    const struct candidates *candidates = &beside->candidates;
    if (beside->code != BERTH_OK || candidates->item == NULL || candidates->count == 0)
        return INFINITY;
    const struct candidate **sorted = malloc(candidates->count * sizeof *sorted);
    if (sorted == NULL) {
        beside->code = err_set(beside->err, BERTH_NO_MEMORY, "no memory for paths");
        return INFINITY;
    }
    for (size_t i = 0; i < candidates->count; i++)
        sorted[i] = &candidates->item[i];
    qsort(sorted, candidates->count, sizeof *sorted, by_least);
    beside->lead = beside->any = (struct found){0, INFINITY};
    for (size_t i = 0; beside->code == BERTH_OK && i < candidates->count &&
                       sorted[i]->least_ns < beside->lead.time_ns;
         i++)
        weigh(beside, (size_t)(sorted[i] - candidates->item));
    free(sorted);
    const struct found *best = beside->lead.time_ns < INFINITY ? &beside->lead : &beside->any;
    if (beside->code != BERTH_OK || !(best->time_ns < limit_ns))
        return INFINITY;
    struct route_option *option = &answer->option[answer->count++];
    (void)begin(beside, &candidates->item[best->index], option);
    /* once more, with what there is to warn of */
    beside->code = plan_route_price_shared(beside->work, option, beside->err);
    return best->time_ns;
}

/* ---- what there is to weigh ---- */

static void add_way(struct beside *beside, const place_id *via, size_t count, enum move_by by)
{
    const struct way_ends *ends = &beside->work->ends;
    struct candidate one = {.set = NULL, .is_without_direct = false};
    place_id from = ends->from;
    one.way.hop_count = count + 1;
    for (size_t i = 0; i <= count; i++) {
        place_id to = i < count ? via[i] : ends->to;
        const struct pair *pair = plan_pairs_find(ends->pairs, from, to, by);
        if (pair == NULL)
            return;
        one.way.pair[i] = pair;
        one.way.hop[i] = ends->both ? pair->both : pair->move;
        from = to;
    }
    one.rate = plan_way_rate(&one.way);
    one.least_ns = plan_way_time_ns(&one.way, plan_way_counted(&one.way, ends->bytes), 0, NULL);
    add(beside, &one);
}

static bool may_pass(const struct way_ends *ends, place_id via, enum place_kind kind)
{
    return via != ends->from && via != ends->to && graph_place(ends->graph, via)->kind == kind &&
           plan_way_may_pass(ends, via);
}

/* Through one other memory of that kind, or through two. */
static void find_ways(struct beside *beside, enum place_kind kind, bool two, enum move_by by)
{
    const struct way_ends *ends = &beside->work->ends;
    const place_id *memory;
    size_t count = plan_pairs_memories(ends->pairs, &memory);
    beside->candidates.count = 0;
    for (size_t f = 0; f < count; f++) {
        if (!may_pass(ends, memory[f], kind))
            continue;
        if (!two)
            add_way(beside, &memory[f], 1, by);
        for (size_t s = 0; s < count && two; s++)
            if (s != f && may_pass(ends, memory[s], kind))
                add_way(beside, (place_id[]){memory[f], memory[s]}, 2, by);
    }
}

/* Whether no gpu would run more kernels at once, with those of what moves meanwhile, than one
 * program's ways may have. */
static bool has_blocks(const struct route_work *work, const struct way *way, size_t count)
{
    for (size_t w = 0; w < count; w++)
        for (size_t i = 0; i < way[w].hop_count; i++) {
            const struct move *hop = &way[w].hop[i];
            size_t kernels = hop->by == MOVE_KERNEL ? plan_way_kernels(way, count, hop->driver) : 0;
            for (size_t m = 0; m < work->request.meanwhile_count && kernels > 0; m++)
                kernels += work->meanwhile[m].by == MOVE_KERNEL &&
                           work->meanwhile[m].driver == hop->driver;
            if (kernels > WAY_KERNELS_MAX)
                return false;
        }
    return true;
}

static void find_sets(struct beside *beside, const struct chain_list *list, unsigned firsts)
{
    const struct way_ends *ends = &beside->work->ends;
    for (size_t i = 0; i < list->count; i++) {
        const struct chain_set *set = &list->set[i];
        struct way way[SHARE_WAYS_MAX];
        if ((firsts >> set->first & 1) == 0)
            continue;
        plan_chain_ways(set, ends->both, way);
        for (size_t without = 0; without < (set->has_direct ? 2 : 1) && set->count > 1 + without;
             without++) {
            struct candidate one = {.set = set, .is_without_direct = without == 1};
            one.rate = plan_split_rate(way + without, set->count - without);
            one.least_ns = ends->bytes / one.rate * 1e9 +
                           plan_chain_least_ns(way + without, set->count - without);
            if (has_blocks(beside->work, way + without, set->count - without))
                add(beside, &one);
        }
    }
}

/* Sets of ways as they would be taken if nothing moved meanwhile; because the direct way may be
 * what is slowed most, also without it. */
static void add_split(struct beside *beside, unsigned firsts, double limit_ns)
{
    struct chain_list *list = plan_chain_list(&beside->work->ends, !beside->work->request.overlap);
    if (list == NULL) {
        beside->code = beside->code != BERTH_OK
                           ? beside->code
                           : err_set(beside->err, BERTH_NO_MEMORY, "no memory for paths");
        return;
    }
    beside->candidates.count = 0;
    beside->list = list;
    find_sets(beside, list, firsts);
    (void)add_best(beside, limit_ns);
    free(list);
}

enum berth_code plan_route_beside(struct route_work *work, struct berth_err *err)
{
    struct beside beside;
    const struct route_option *direct = plan_route_order_direct(work->answer);
    double direct_ns = INFINITY;
    beside.work = work; /* there is much that need not be anything yet */
    beside.quiet = *work;
    beside.quiet.answer = &beside.unread;
    beside.has_direct = direct != NULL;
    if (direct != NULL)
        beside.direct = *direct;
    beside.candidates = (struct candidates){NULL, 0, 0};
    beside.err = err;
    beside.code = BERTH_OK;
    unsigned firsts = plan_route_order_firsts(work->answer);
    for (size_t i = 0; i < work->answer->count; i++)
        direct_ns = work->answer->option[i].is_guess
                        ? direct_ns
                        : fmin(direct_ns, work->answer->option[i].predicted.time_ns);
    for (int by = MOVE_COPY_ENGINE; by <= (work->request.overlap ? MOVE_COPY_ENGINE : MOVE_KERNEL);
         by++) {
        if (by == MOVE_COPY_ENGINE) {
            find_ways(&beside, PLACE_NUMA, false, MOVE_COPY_ENGINE);
            (void)add_best(&beside, INFINITY);
        }
        find_ways(&beside, PLACE_GPU, false, (enum move_by)by);
        double one_ns = add_best(&beside, INFINITY);
        find_ways(&beside, PLACE_GPU, true, (enum move_by)by);
        /* two gpus between are worth a word only where they are faster than one */
        (void)add_best(&beside, one_ns);
    }
    if (firsts != 0)
        add_split(&beside, firsts, direct_ns);
    free(beside.candidates.item);
    return beside.code;
}
