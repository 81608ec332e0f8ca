/**
 * Which ways can be taken at once beside a direct one, all by copy engine or all by kernel: a list
 * of sets of ways, whatever the bytes. What plan/route/split.h chooses from.
 *
 * Ways are taken one after the other, each time the one with the highest rate of those that find
 * room beside the ones before (plan/route/share.h), as long as very many bytes get CHAIN_WORTH
 * faster by that; the first two, three, ... of these are a set each. Where one goes through two
 * gpus, the same is tried with such last; and all that without each set of the gpus that are in the
 * way of others, up to six of them and 64 sets. So the list has what any part of the gpus would
 * find. With kernels it has what it has without them, and more. Behind these stand any two of the
 * ways that are so taken
 * beside the direct one alone, without that: the direct way may be what is slowed most by what
 * moves meanwhile.
 *
 * Each request makes its list. Pure; any thread.
 */
#pragma once
#include "plan/route/share.h"
#include "plan/route/way_reach.h"

#define CHAIN_WORTH 0.95 /* of the time for very many bytes without one more way */

/* One way of a set: its hops, of the snapshot, each so many times slower than alone. */
struct chain_way {
    const struct pair *pair[WAY_HOPS_MAX];
    double slowdown[WAY_HOPS_MAX];
    bool is_slowed_by_guess[WAY_HOPS_MAX];
    size_t hop_count;
    size_t reach; /* its number in the list's */
};

struct chain_set {
    struct chain_way way[SHARE_WAYS_MAX];
    size_t count;
    enum move_by first; /* of the direct way beside which it was found */
    bool has_direct;    /* the first of its ways is that one */
    double rate;        /* bytes per second that very many approach, by all of them */
    double waiting_ns;  /* what the caller waits for the end of each way but the first */
    double least_ns;    /* plan_chain_least_ns */
    const char *shared; /* as plan_share_ways has it */
    bool may_lead;      /* all of it was measured (plan/route/source.h) */
};

struct chain_list {
    const struct way_reach *reach; /* of each way there is in a set, behind them */
    size_t count, with_direct;     /* all, and those that stand first */
    struct chain_set set[];        /* in the order in which they are found */
};

/* Only by copy engines when kernels are false. NULL when out of memory. The caller frees it. */
struct chain_list *plan_chain_list(const struct way_ends *ends, bool kernels);

/* What the caller waits for the end of each way that is not the first: what seeing the end of one
 * more stream was measured to take; where it was not, a call's time. And how much later than the
 * others the latest may end, because its engine sees late that the hop before has ended. */
double plan_chain_waiting_ns(const struct way *way, size_t count);

/* With waiting: bytes over the ways' rates and this is no more than bytes take by them, of which
 * each has as much as the smallest piece. */
double plan_chain_least_ns(const struct way *way, size_t count);

/* How many bytes go by a set within that time at most, where each of its ways has PAIRS_CHUNK_LEAST
 * or more. */
double plan_chain_reach(const struct chain_list *list, const struct chain_set *set, double time_ns);

/* The ways of a set as they are priced. */
void plan_chain_ways(const struct chain_set *set, bool both, struct way *ret);
