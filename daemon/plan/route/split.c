#include "plan/route/split.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Newton's method: times are nearly straight lines over bytes where splitting is worth it. Ways end
 * together to a thousandth of the time, or a hundredth in a rough estimate. */
#define STEPS        6
#define ENOUGH       0.001
#define ROUGH_STEPS  2
#define ROUGH_ENOUGH 0.01
#define ROUGHLY      1.1 /* a rough estimate is no more than so much of the time */
#define FAR          0.2 /* from a rival's time: then the first estimate says which is less */

static double pieces_of(const struct split_part *part)
{
    return part->chunk > 0 ? ceil(part->bytes / part->chunk) : 1;
}

/* Copies to other gpus that one gpu's engine makes over the same lane go one after the other, as
 * they were started. */
static unsigned queue_of(const struct way *way, size_t index)
{
    const struct move *hop = &way[index].hop[0];
    unsigned queue = 0;
    for (size_t i = 0; i < index && way[index].hop_count > 1; i++) {
        const struct move *other = &way[i].hop[0];
        bool meets = other->by == MOVE_COPY_ENGINE && hop->by == MOVE_COPY_ENGINE &&
                     other->driver == hop->driver && way[i].pair[0]->is_peer &&
                     way[index].pair[0]->is_peer &&
                     plan_lanes_meet(way[i].pair[0]->lanes, way[index].pair[0]->lanes);
        queue |= meets ? 1U << i : 0;
    }
    return queue;
}

/* Those of the ways before, as far ahead as there are buffers for them. */
static double queued_before_ns(const struct split_part *part, size_t index)
{
    double ns = 0;
    for (size_t i = 0; i < index && part[index].queue >> i != 0; i++)
        if ((part[index].queue >> i & 1) != 0)
            ns += (part[i].chunk > 0 ? fmin(part[i].bytes, SPLIT_AHEAD * part[i].chunk)
                                     : part[i].bytes) /
                  part[i].queue_rate * 1e9;
    return ns;
}

/* The end of each, and of the sum of their rates' shares. */
static double measure(size_t count, double sum, struct split_part *part)
{
    double before_ns = 0, together_ns = 0;
    for (size_t i = 0; i < count; i++) {
        double queued_ns = queued_before_ns(part, i);
        part[i].before_ns = queued_ns > before_ns ? queued_ns : before_ns;
        double bytes = part[i].bytes > part[i].least_bytes ? part[i].bytes : part[i].least_bytes;
        part[i].end_ns =
            part[i].before_ns + plan_way_hops_time_ns(&part[i].hops, bytes, &part[i].chunk);
        before_ns += part[i].launch_ns * pieces_of(&part[i]);
        together_ns += part[i].end_ns * part[i].rate / sum;
    }
    return together_ns;
}

/* What does not depend on the bytes. */
static void prepare(const struct way *way, size_t count, struct split_part *part)
{
    double behind = 0;
    for (size_t i = count; i-- > 0;) {
        plan_way_hops(&way[i], &part[i].hops);
        part[i].rate = plan_way_rate(&way[i]);
        part[i].launch_ns = part[i].hops.launch_ns;
        part[i].behind_ns = part[i].hops.behind_ns = part[i].launch_ns * behind / part[i].rate;
        part[i].least_bytes = plan_way_counted(&way[i], 0);
        part[i].queue = queue_of(way, i);
        part[i].queue_rate = plan_way_hop_rate(&way[i].pair[0]->move);
        behind += part[i].rate;
    }
}

/* What shares are looked for with. */
struct aim {
    int steps;
    double enough;
    double rival_ns; /* no further than to know which is less; INFINITY: no rival */
    /* what takes as long is given up as soon as that is seen; INFINITY: nothing is */
    double limit_ns;
    double rough_ns; /* likewise, what takes so long by a rough estimate */
};

/* Other shares would be more for one of the ways: but for what pieces cost those behind them, all
 * takes no less than the first to end. */
static double first_end(const struct split_part *part, size_t count)
{
    double first_ns = INFINITY;
    for (size_t i = 0; i < count; i++)
        first_ns = part[i].end_ns < first_ns ? part[i].end_ns : first_ns;
    return first_ns;
}

/* Gives when all ends, as far as is known; INFINITY where that is given up. */
static double find_shares(struct split_part *part, size_t count, double bytes,
                          const struct aim *aim)
{
    double best_ns = INFINITY, best[SPLIT_WAYS_MAX] = {0}, sum = 0, limit_ns = aim->limit_ns;
    bool is_near = false; /* a rough estimate has said that it may take less than the limit */
    for (size_t i = count; i-- > 0;)
        sum += part[i].rate;
    for (size_t i = 0; i < count; i++)
        part[i].bytes = bytes * part[i].rate / sum;
    for (int step = 0; step <= aim->steps; step++) {
        double together_ns = measure(count, sum, part), apart_ns = 0, total = 0, end_ns = 0;
        for (size_t i = 0; i < count; i++) {
            apart_ns = fmax(apart_ns, fabs(part[i].end_ns - together_ns));
            end_ns = fmax(end_ns, part[i].end_ns);
        }
        for (size_t i = 0; i < count && end_ns < best_ns; i++)
            best[i] = part[i].bytes;
        bool is_best = end_ns <= best_ns;
        best_ns = fmin(best_ns, end_ns);
        if (step <= ROUGH_STEPS && aim->rival_ns < INFINITY &&
            fabs(together_ns - aim->rival_ns) > FAR * aim->rival_ns)
            return together_ns;
        bool is_far = fabs(together_ns - limit_ns) > FAR * limit_ns,
             is_said = is_far || step == ROUGH_STEPS || apart_ns < ROUGH_ENOUGH * together_ns;
        if (limit_ns < INFINITY &&
            (first_end(part, count) >= limit_ns ||
             (!is_near && is_said && (is_far ? together_ns : best_ns) >= aim->rough_ns)))
            return INFINITY;
        is_near = is_near || is_said;
        if (step == aim->steps || apart_ns < aim->enough * together_ns) {
            /* a piece more or less may be worth more than that all end together */
            for (size_t i = 0; i < count && !is_best; i++)
                part[i].bytes = best[i];
            if (!is_best)
                (void)measure(count, sum, part);
            break;
        }
        for (size_t i = 0; i < count; i++) {
            part[i].bytes =
                fmax(part[i].bytes + (together_ns - part[i].end_ns) * 1e-9 * part[i].rate, 1);
            total += part[i].bytes;
        }
        for (size_t i = 0; i < count; i++)
            part[i].bytes *= bytes / total;
    }
    return best_ns;
}

/* Whether kernels that share a gpu get all that they get alone nobody measured: it may be as little
 * as their parts of its blocks. */
static double high_shared_ns(const struct way *way, size_t count, size_t index, double bytes,
                             double behind_ns)
{
    struct way slowed = way[index];
    size_t most = 1;
    for (size_t i = 0; i < slowed.hop_count; i++) {
        size_t kernels = slowed.hop[i].by == MOVE_KERNEL
                             ? plan_way_kernels(way, count, slowed.hop[i].driver)
                             : 1;
        slowed.hop[i].slowdown *= (double)kernels;
        most = kernels > most ? kernels : most;
    }
    return most > 1 ? plan_way_time(&slowed, bytes, behind_ns, NULL).high_ns : 0;
}

struct prediction plan_split_time(const struct way *way, size_t count, double bytes,
                                  double *ret_share, double *ret_chunk)
{
    struct split_part part[SPLIT_WAYS_MAX] = {{.bytes = bytes}};
    struct prediction all = {0, 0, 0};
    double more_ns = plan_chain_waiting_ns(way, count);
    if (count > 1) {
        prepare(way, count, part);
        (void)find_shares(part, count, bytes,
                          &(struct aim){STEPS, ENOUGH, INFINITY, INFINITY, INFINITY});
    }
    for (size_t i = 0; i < count; i++) {
        bool is_direct = count == 1 && way->hop_count == 1, is_known = way[i].pair[0] != NULL;
        double counted =
            is_direct || !is_known ? part[i].bytes : plan_way_counted(&way[i], part[i].bytes);
        struct prediction one = plan_way_time(&way[i], counted, part[i].behind_ns, &part[i].chunk);
        if (!is_direct && !isnan(one.high_ns))
            one.high_ns =
                fmax(one.high_ns, high_shared_ns(way, count, i, counted, part[i].behind_ns));
        double before = part[i].before_ns + more_ns; /* as long as that is, as unsure it is */
        one = (struct prediction){one.time_ns + before,
                                  one.time_ns + before - hypot(one.time_ns - one.low_ns, before),
                                  one.time_ns + before + hypot(one.high_ns - one.time_ns, before)};
        all.time_ns = fmax(all.time_ns, one.time_ns);
        /* once unknown, it stays so */
        all.low_ns = one.low_ns > all.low_ns || isnan(one.low_ns) ? one.low_ns : all.low_ns;
        all.high_ns = one.high_ns > all.high_ns || isnan(one.high_ns) ? one.high_ns : all.high_ns;
        if (ret_share != NULL)
            ret_share[i] = part[i].bytes / bytes;
        if (ret_chunk != NULL)
            ret_chunk[i] = part[i].chunk;
    }
    return all;
}

void plan_split_begin(const struct way *way, size_t count, struct split *ret)
{
    ret->way = way;
    ret->count = count;
    if (count == 1)
        return;
    ret->waiting_ns = plan_chain_waiting_ns(way, count);
    prepare(way, count, ret->part);
}

double plan_split_again_ns(struct split *split, double bytes, double rival_ns)
{
    const struct way *way = split->way;
    if (split->count == 1)
        return plan_way_time_ns(
            way, way->hop_count > 1 && way->pair[0] != NULL ? plan_way_counted(way, bytes) : bytes,
            0, NULL);
    bool has_rival = rival_ns < INFINITY; /* near it the last percent matters */
    const struct aim aim = {has_rival ? STEPS : ROUGH_STEPS, has_rival ? ENOUGH : ROUGH_ENOUGH,
                            fmax(rival_ns - split->waiting_ns, 0), INFINITY, INFINITY};
    return find_shares(split->part, split->count, bytes, &aim) + split->waiting_ns;
}

double plan_split_time_ns(const struct way *way, size_t count, double bytes, double rival_ns)
{
    struct split split;
    plan_split_begin(way, count, &split);
    return plan_split_again_ns(&split, bytes, rival_ns);
}

bool plan_split_is_enough(const double *share, size_t count, double bytes)
{
    for (size_t i = 0; i < count && count > 1; i++)
        if (share[i] * bytes < SPLIT_LEAST)
            return false;
    return true;
}

double plan_split_rate(const struct way *way, size_t count)
{
    double rate = 0;
    for (size_t i = 0; i < count; i++)
        rate += plan_way_rate(&way[i]);
    return rate;
}

/* Of a set, as plan_split_time has it, if every share is large enough and it is less than limit_ns;
 * else INFINITY. */
static double time_of(const struct chain_set *set, const struct way *way, double bytes,
                      double limit_ns)
{
    struct split_part part[SPLIT_WAYS_MAX];
    prepare(way, set->count, part);
    const struct aim aim = {STEPS, ENOUGH, INFINITY, fmax(limit_ns - set->waiting_ns, 0),
                            ROUGHLY * limit_ns - set->waiting_ns};
    double time_ns = find_shares(part, set->count, bytes, &aim) + set->waiting_ns;
    for (size_t i = 0; i < set->count; i++)
        if (part[i].bytes < SPLIT_LEAST)
            return INFINITY;
    return time_ns < limit_ns ? time_ns : INFINITY;
}

/* What the sets are chosen for. */
struct wanted {
    const struct way_ends *ends;
    unsigned firsts;
    double enough;
    bool must_lead;
};

static bool is_wanted(const struct wanted *wanted, const struct chain_set *set, bool is_enough)
{
    return (set->rate > wanted->enough) == is_enough && (set->may_lead || !wanted->must_lead) &&
           wanted->ends->bytes >= (double)set->count * SPLIT_LEAST &&
           (wanted->firsts >> set->first & 1) != 0;
}

/* What each set takes at least; INFINITY: it is not wanted. */
static void find_least(const struct chain_list *list, const struct wanted *wanted, bool is_enough,
                       double *ret_least_ns)
{
    for (size_t i = 0; i < list->with_direct; i++)
        ret_least_ns[i] =
            is_wanted(wanted, &list->set[i], is_enough)
                ? wanted->ends->bytes / list->set[i].rate * 1e9 + list->set[i].least_ns
                : INFINITY;
}

#define SAME 1e-9 /* such a difference is the numbers' */

/* Leaves out those that cannot be as fast as the best. */
static void leave_slow(const struct chain_list *list, double bytes, double best_ns,
                       double *least_ns)
{
    for (size_t i = 0; i < list->with_direct; i++)
        if (least_ns[i] < best_ns &&
            plan_chain_reach(list, &list->set[i], best_ns) < bytes * (1 - SAME))
            least_ns[i] = INFINITY;
}

/* The fastest of those that very many bytes get enough by, or of those that they do not; those with
 * the least of all are looked at first, and none that takes no less than the best anyway. least_ns:
 * room. */
static const struct chain_set *fastest(const struct chain_list *list, const struct wanted *wanted,
                                       bool is_enough, double *least_ns, struct way *ret)
{
    const struct chain_set *best = NULL;
    double best_ns = INFINITY, bytes = wanted->ends->bytes;
    find_least(list, wanted, is_enough, least_ns);
    for (;;) {
        size_t next = list->with_direct;
        double next_ns = best_ns;
        for (size_t i = 0; i < list->with_direct; i++)
            if (least_ns[i] < next_ns) {
                next_ns = least_ns[i];
                next = i;
            }
        if (next == list->with_direct)
            return best;
        const struct chain_set *set = &list->set[next];
        least_ns[next] = INFINITY;
        struct way way[SPLIT_WAYS_MAX];
        plan_chain_ways(set, wanted->ends->both, way);
        double time_ns = time_of(set, way, bytes, best_ns);
        if (time_ns < best_ns) {
            best_ns = time_ns;
            best = set;
            memcpy(ret, way, set->count * sizeof *way);
            leave_slow(list, bytes, best_ns, least_ns);
        }
    }
}

bool plan_split_find(const struct way_ends *ends, const struct chain_list *list, unsigned firsts,
                     double enough, bool must_lead, struct way *way, size_t *ret_count,
                     const char **ret_shared)
{
    const struct wanted wanted = {ends, firsts, enough, must_lead};
    double *least_ns = malloc((list->with_direct + 1) * sizeof *least_ns);
    if (least_ns == NULL)
        return false;
    const struct chain_set *best = fastest(list, &wanted, true, least_ns, way);
    if (best == NULL)
        best = fastest(list, &wanted, false, least_ns, way);
    free(least_ns);
    *ret_count = best != NULL ? best->count : 0;
    *ret_shared = best != NULL ? best->shared : NULL;
    return true;
}
