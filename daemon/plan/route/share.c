#include "plan/route/share.h"

#include <math.h>
#include <string.h>

#define SAME 1e-9
/* of what ways get together: a lane that was seen to carry that is wide enough, to within what
 * measuring is uncertain by */
#define WIDE   0.98
#define HOPS   (SHARE_WAYS_MAX * WAY_HOPS_MAX)
#define LIMITS (HOPS * PAIRS_LIMITS_MAX)

_Static_assert(HOPS <= WAY_ROOM_HOPS, "each hop has its place in what is taken");

/* Something shared that cannot carry all of what uses it. */
struct route_limit {
    uint16_t number;
    unsigned users;             /* hops */
    uint8_t of[SHARE_WAYS_MAX]; /* how many of each way */
    double left;
};

struct work {
    const struct way_ends *ends;
    struct way *way;
    size_t count;
    double alone[SHARE_WAYS_MAX], rate[SHARE_WAYS_MAX];
    const struct route_limit *by[SHARE_WAYS_MAX]; /* what slows it; NULL nothing */
    bool is_run;                                  /* they get what a run of just these got */
    struct route_limit limit[LIMITS];
    size_t limit_count;
};

/* ---- what concurrent runs showed ---- */

static struct route_limit *find_limit(struct work *work, uint16_t number)
{
    for (size_t i = 0; i < work->limit_count; i++)
        if (work->limit[i].number == number)
            return &work->limit[i];
    struct route_limit *limit = &work->limit[work->limit_count++];
    *limit = (struct route_limit){.number = number};
    return limit;
}

static double capacity_of(const struct pair_limit *limit, unsigned users)
{
    double capacity = limit->stated > 0 && users >= limit->stated_from ? limit->stated : INFINITY;
    for (size_t i = 0; i < limit->step_count && limit->step[i].flows <= users; i++)
        capacity = limit->step[i].bytes_per_s;
    return capacity;
}

/* Those that have too little for all. */
static void find_limits(struct work *work)
{
    size_t kept = 0;
    work->limit_count = 0;
    for (size_t w = 0; w < work->count; w++)
        for (size_t i = 0; i < work->way[w].hop_count; i++) {
            const struct pair *pair = work->way[w].pair[i];
            for (unsigned l = 0; l < pair->limit_count; l++) {
                struct route_limit *limit = find_limit(work, pair->limit[l]);
                uint8_t times =
                    work->ends->both && plan_pairs_limit(work->ends->pairs, pair->limit[l]).is_both
                        ? 2
                        : 1;
                limit->users += times;
                limit->of[w] = (uint8_t)(limit->of[w] + times);
            }
        }
    for (size_t i = 0; i < work->limit_count; i++) {
        struct route_limit *limit = &work->limit[i];
        double wanted = 0;
        for (size_t w = 0; w < work->count; w++)
            wanted += limit->of[w] * work->alone[w];
        const struct pair_limit its = plan_pairs_limit(work->ends->pairs, limit->number);
        limit->left = capacity_of(&its, limit->users);
        if (wanted > limit->left * (1 + SAME))
            work->limit[kept++] = *limit;
    }
    work->limit_count = kept;
}

static bool is_growing(const struct work *work, size_t w) { return isnan(work->rate[w]); }

static double level_of(const struct work *work, const struct route_limit *limit)
{
    double growing = 0;
    for (size_t w = 0; w < work->count; w++)
        growing += is_growing(work, w) ? limit->of[w] : 0;
    return growing > 0 ? fmax(limit->left, 0) / growing : INFINITY;
}

static void fix(struct work *work, size_t w, double rate, const struct route_limit *by)
{
    work->rate[w] = rate;
    work->by[w] = by;
    for (size_t i = 0; i < work->limit_count; i++)
        work->limit[i].left -= work->limit[i].of[w] * rate;
}

/* Water rises in all ways alike; each is fixed where it, or something that it uses, is full. */
static void find_rates(struct work *work)
{
    find_limits(work);
    for (size_t w = 0; w < work->count; w++)
        work->rate[w] = NAN;
    for (size_t left = work->count; left > 0;) {
        double level = INFINITY;
        const struct route_limit *fullest = NULL;
        size_t slowest = work->count;
        for (size_t i = 0; i < work->limit_count; i++) {
            double its = level_of(work, &work->limit[i]);
            fullest = its < level ? &work->limit[i] : fullest;
            level = fmin(level, its);
        }
        for (size_t w = 0; w < work->count; w++)
            if (is_growing(work, w) && work->alone[w] <= level &&
                (slowest == work->count || work->alone[w] < work->alone[slowest]))
                slowest = w;
        if (slowest < work->count) {
            fix(work, slowest, work->alone[slowest], NULL);
            left--;
            continue;
        }
        for (size_t w = 0; w < work->count; w++)
            if (is_growing(work, w) && (fullest == NULL || fullest->of[w] > 0)) {
                fix(work, w, fmax(level, 1), fullest);
                left--;
            }
    }
}

/* ---- both directions ---- */

static bool is_flow(const struct set_flow *flow, place_id from, place_id to, const char *axes)
{
    return flow->from == from && flow->to == to && strcmp(flow->axes, axes) == 0;
}

/* The one whose flows are those hops of the ways that are with the host, and when both directions
 * are asked for the same the other way round; the sum of each direction. */
static bool find_run(const struct work *work, double *ret_there, double *ret_back)
{
    size_t times = work->ends->both ? 2 : 1;
    const struct sets *sets = work->ends->snap->sets;
    const struct move *hop[HOPS];
    size_t count = 0;
    for (size_t w = 0; w < work->count; w++)
        for (size_t i = 0; i < work->way[w].hop_count; i++)
            if (work->way[w].pair[i]->is_with_host)
                hop[count++] = &work->way[w].hop[i];
    for (size_t s = 0; sets != NULL && s < sets->count; s++) {
        const struct set *set = &sets->item[s];
        size_t found = 0;
        double there = 0, back = 0;
        if (set->flow_count != times * count || set->source != VALUE_MEASURED)
            continue;
        for (size_t h = 0; h < count; h++)
            for (size_t f = 0; f < set->flow_count; f++) {
                const char *axes = values_axes(work->ends->snap->values, hop[h]->rate);
                bool forward = is_flow(&set->flow[f], hop[h]->from, hop[h]->to, axes),
                     reverse = times == 2 && is_flow(&set->flow[f], hop[h]->to, hop[h]->from, axes);
                there += forward ? set->flow[f].bytes_per_s : 0;
                back += reverse ? set->flow[f].bytes_per_s : 0;
                found += forward || reverse;
            }
        if (count == 0 || found != times * count ||
            transfer_kind_of(set->metric) != plan_move_kind(work->ends->graph, hop[0]))
            continue;
        *ret_there = there;
        *ret_back = back;
        return true;
    }
    return false;
}

static size_t ways_with_host(const struct work *work)
{
    size_t count = 0;
    for (size_t w = 0; w < work->count; w++) {
        bool is_with = false;
        for (size_t i = 0; i < work->way[w].hop_count; i++)
            is_with = is_with || work->way[w].pair[i]->is_with_host;
        count += is_with;
    }
    return count;
}

/* Both directions move as much. Until the one that is faster has ended both are as slow as they
 * were together, then what is left is as fast as alone. */
static bool slow_both(struct work *work)
{
    double there, back, alone = 0;
    for (size_t w = 0; w < work->count; w++)
        alone += work->rate[w];
    if (work->count < 2)
        return true;
    if (!find_run(work, &there, &back))
        return work->count == 2 || ways_with_host(work) <= 2;
    double together = back > there ? alone * back / (alone + back - there) : there;
    for (size_t w = 0; w < work->count && together < alone; w++)
        work->rate[w] *= together / alone;
    return true;
}

static bool is_stated(const struct work *work, const struct route_limit *limit)
{
    return limit != NULL && plan_pairs_limit(work->ends->pairs, limit->number).stated > 0;
}

/* Where just these transfers were measured together, they get what they got then, whatever else
 * says of what they share. */
static void take_run(struct work *work)
{
    double there, back, together = 0;
    bool is_guess = false;
    for (size_t w = 0; w < work->count; w++) {
        together += work->rate[w];
        is_guess = is_guess || is_stated(work, work->by[w]);
    }
    if (work->count < 2 || ways_with_host(work) != work->count || !find_run(work, &there, &back))
        return;
    work->is_run = true;
    for (size_t w = 0; w < work->count && (there < together || is_guess); w++)
        work->rate[w] = fmin(work->rate[w] * there / together, work->alone[w]);
}

/* ---- ways ---- */

/* Every hop as alone; of transfers with the host that go both ways, where a run has all of them,
 * too. */
static void reset(struct work *work, bool is_in_run)
{
    for (size_t w = 0; w < work->count; w++) {
        struct way *way = &work->way[w];
        work->alone[w] = INFINITY;
        work->by[w] = NULL;
        for (size_t i = 0; i < way->hop_count; i++) {
            struct move *hop = &way->hop[i];
            hop->is_slowed_by_guess = false;
            hop->slowdown = work->ends->both && !(is_in_run && way->pair[i]->is_with_host)
                                ? way->pair[i]->both.slowdown
                                : 1;
            work->alone[w] = fmin(work->alone[w], plan_way_hop_rate(hop));
        }
    }
}

static bool uses(const struct pair *pair, const struct route_limit *limit)
{
    for (unsigned l = 0; limit != NULL && l < pair->limit_count; l++)
        if (pair->limit[l] == limit->number)
            return true;
    return false;
}

/* The hop that holds the way up moves as slowly as the way. */
static void slow_hops(struct work *work, size_t w)
{
    struct way *way = &work->way[w];
    for (size_t i = 0; i < way->hop_count; i++) {
        struct move *hop = &way->hop[i];
        bool is_slowed =
            work->by[w] != NULL ? uses(way->pair[i], work->by[w]) : way->pair[i]->is_with_host;
        if (!is_slowed || plan_way_hop_rate(hop) <= work->rate[w] * (1 + SAME))
            continue;
        hop->slowdown *= plan_way_hop_rate(hop) / work->rate[w];
        hop->is_slowed_by_guess = !work->is_run && is_stated(work, work->by[w]);
    }
}

/* Lanes that several use are known, and wide enough. */
static bool lanes_suffice(const struct work *work)
{
    struct lanes once = {.is_known = true}, twice = {.is_known = true};
    for (size_t w = 0; w < work->count; w++)
        for (size_t i = 0; i < work->way[w].hop_count; i++) {
            const struct lanes *lanes = work->way[w].pair[i]->lanes;
            if (!lanes->is_known && work->count > 1)
                return false;
            for (size_t b = 0; b < LANES_WORDS; b++) {
                twice.bit[b] |= once.bit[b] & lanes->bit[b];
                once.bit[b] |= lanes->bit[b];
            }
        }
    for (size_t b = 0; b < LANES_WORDS; b++)
        for (uint64_t bits = twice.bit[b]; bits != 0; bits &= bits - 1) {
            double sum = 0;
            for (size_t w = 0; w < work->count; w++)
                for (size_t i = 0; i < work->way[w].hop_count; i++)
                    sum += (work->way[w].pair[i]->lanes->bit[b] & bits & -bits) != 0 ? work->rate[w]
                                                                                     : 0;
            if (WIDE * sum >
                    plan_pairs_lane(work->ends->pairs, 64 * b + (size_t)__builtin_ctzll(bits)) &&
                work->count > 1)
                return false;
        }
    return true;
}

bool plan_share_ways(const struct way_ends *ends, struct way *way, size_t count,
                     const char **ret_shared)
{
    struct work work;
    double there, back, most = 1;
    work.ends = ends; /* the limits are many, and need not be anything yet */
    work.way = way;
    work.count = count;
    work.is_run = false;
    reset(&work, ends->both && count > 1 && find_run(&work, &there, &back));
    find_rates(&work);
    if (ends->both && !slow_both(&work))
        return false;
    if (!ends->both)
        take_run(&work);
    if (!lanes_suffice(&work))
        return false;
    const char *shared = NULL;
    for (size_t w = 0; w < count; w++) {
        slow_hops(&work, w);
        if (work.by[w] != NULL && work.alone[w] > most * work.rate[w] * (1 + SAME)) {
            most = work.alone[w] / work.rate[w];
            shared = plan_pairs_limit(ends->pairs, work.by[w]->number).name;
        }
    }
    *ret_shared = shared;
    return true;
}

static void take_room(const struct way_ends *ends, const struct pair *pair, double rate,
                      struct way_room *room)
{
    room->taken[room->taken_count++] = pair;
    for (size_t b = 0; b < LANES_WORDS; b++)
        for (uint64_t bits = pair->lanes->bit[b]; bits != 0; bits &= bits - 1) {
            size_t lane = 64 * b + (size_t)__builtin_ctzll(bits);
            bool is_new = (room->used.bit[b] & bits & -bits) == 0;
            room->left[lane] =
                (is_new ? plan_pairs_lane(ends->pairs, lane) : room->left[lane]) - rate;
            /* what a port carries both ways at once is what this transfer gets there: more was
             * seen one way only */
            if (ends->both && pair->is_with_host)
                room->left[lane] = 0;
            room->used.bit[b] |= bits & -bits;
        }
}

void plan_share_room(const struct way_ends *ends, const struct way *way, size_t count,
                     struct way_room *ret)
{
    ret->used = (struct lanes){.is_known = true};
    ret->taken_count = 0;
    for (size_t w = 0; w < count; w++)
        for (size_t i = 0; i < way[w].hop_count; i++) {
            take_room(ends, way[w].pair[i], plan_way_rate(&way[w]), ret);
            ret->used.is_known = ret->used.is_known && way[w].pair[i]->lanes->is_known;
        }
}
