/**
 * Bytes that go several ways at once, in shares such that all end together.
 *
 * One thread starts all: what goes by a way begins when all pieces of those before it were started,
 * and after the last it waits for the end of each. Pieces are as large as suits all of them
 * together: those of a way that others stand behind are larger than they would be alone. What one
 * engine copies to several gpus over the same links goes one after the other, in that order.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/route/chain.h"

#define SPLIT_WAYS_MAX SHARE_WAYS_MAX
#define SPLIT_LEAST    65536 /* fewer bytes are not worth a way of their own */
#define SPLIT_AHEAD    4     /* pieces that a program has buffers for between two hops */

/* Of count ways; one takes all. ret_share (adding up to 1) and ret_chunk (0: in one piece) may be
 * NULL. */
struct prediction plan_split_time(const struct way *way, size_t count, double bytes,
                                  double *ret_share, double *ret_chunk);

/* The same to within some percent, without an interval, several times cheaper; cheaper still where
 * it is far from rival_ns (INFINITY: none) and only which is less matters. */
double plan_split_time_ns(const struct way *way, size_t count, double bytes, double rival_ns);

/* What goes by one of several ways. */
struct split_part {
    struct way_hops hops;
    double rate, launch_ns; /* bytes per second of very many; of each piece */
    double behind_ns;       /* what each piece costs all: by so much begin those behind it later */
    double least_bytes;     /* fewer count as so many */
    unsigned queue;         /* bits of the ways before it whose first copies go before its own */
    double queue_rate;      /* bytes per second of its own first hop alone */
    double bytes, chunk;
    double before_ns; /* until it begins */
    double end_ns;
};

/* Ways whose time is asked for many sizes. */
struct split {
    const struct way *way;
    size_t count; /* 0: not begun */
    double waiting_ns;
    struct split_part part[SPLIT_WAYS_MAX];
};

/* The ways have to stay. */
void plan_split_begin(const struct way *way, size_t count, struct split *ret);

/* plan_split_time_ns of them. */
double plan_split_again_ns(struct split *split, double bytes, double rival_ns);

/* Whether each of several ways has SPLIT_LEAST bytes or more with these shares of all; one takes
 * what there is. */
bool plan_split_is_enough(const double *share, size_t count, double bytes);

/* Bytes per second that very many approach. */
double plan_split_rate(const struct way *way, size_t count);

/* Of the sets of ways (plan/route/chain.h) that which takes so many bytes fastest, of those that
 * very many get more than enough bytes per second by, if there are any. must_lead: only of those of
 * which all was measured (plan/route/source.h); firsts: a bit for each mechanism by which the
 * direct way may go. Which there are does not depend on the bytes, so that more of them never take
 * less; and what is found of a part of the gpus, or by copy engines, never takes less than what is
 * found of all. ret_count: how many are in way, each as slow as together; 0: none. ret_shared: as
 * plan_share_ways has it. False when out of memory. */
bool plan_split_find(const struct way_ends *ends, const struct chain_list *list, unsigned firsts,
                     double enough, bool must_lead, struct way *way, size_t *ret_count,
                     const char **ret_shared);
