/**
 * What Route is asked and what it answers, apart from who finds it (plan/route/route.h), who says
 * it (plan/route/say.h) and what a program calls for it (plan/route/call.h).
 */
#pragma once
#include "base/request_limits.h"
#include "cost/evidence.h"
#include "cost/step.h"
#include "node/allowed.h"
#include "node/reasons.h"
#include "plan/route/source.h"
#include "plan/route/split.h"

#define ROUTE_CROSSOVERS 8
#define ROUTE_WAYS_MAX   SPLIT_WAYS_MAX
/* two direct (a kernel's maybe by its links), through the host, by each mechanism through one gpu
 * and through two; these also beside what moves meanwhile; splits */
#define ROUTE_OPTIONS_MAX 16
/* of the time that the direct way it is compared with (plan/route/order.h) takes for very many
 * bytes: what takes several transfers is less certain than one (on two H200 ways that promised 18 %
 * lost 20), and is advised only below that */
#define ROUTE_WORTH 0.8
/* of its time: by so much more must that direct way take for the size asked for */
#define ROUTE_DOUBT 0.04
_Static_assert(ROUTE_CONCURRENT_MAX + ROUTE_WAYS_MAX * WAY_HOPS_MAX <= STEP_FLOWS_MAX,
               "no room for one split beside them");

struct route_transfer {
    place_id from, to;
    int64_t bytes;
};

struct route_request {
    place_id from, to;
    int64_t bytes;
    bool overlap; /* the gpus must stay free to compute: no kernels */
    bool both;    /* as many bytes go the other way meanwhile */
    /* begin with it, each by the mechanism that is faster alone */
    const struct route_transfer *meanwhile;
    size_t meanwhile_count; /* at most ROUTE_CONCURRENT_MAX */
    const struct allowed *allowed;
};

/* All bytes one way, or split over several so that all end together. */
struct route_option {
    struct way way[ROUTE_WAYS_MAX];
    double share[ROUTE_WAYS_MAX];       /* of the bytes; they add up to 1 */
    double chunk_bytes[ROUTE_WAYS_MAX]; /* 0: in one piece */
    size_t way_count;
    bool is_known; /* for such a size; else starting it counts as nothing */
    /* beside a direct way by links, and by links, too (plan/route/links.h): a guess */
    bool is_by_links;
    /* so few bytes by what says nothing of starting them */
    bool lacks_start;
    /* so, or by what is only stated or bounded (plan_move_is_ceiling): predicted is a lower bound
     */
    bool is_at_least;
    /* by links beside what is better known (plan_pairs_is_guess): may not lead */
    bool is_guess;
    /* what both directions get at once was measured of every hop, or is not asked; else
     * cost/pairs.h has what stands for it */
    bool knows_both;
    /* one transfer, or what several share was measured (plan/route/source.h) */
    bool is_together;
    /* what its price rests on lets it go before the direct way it is compared with
     * (plan/route/source.h) */
    bool is_evident;
    /* that, and direct and no guess, or for very many bytes better by ROUTE_WORTH than that
     * direct way, whatever the size asked for */
    bool is_clear;
    bool may_lead; /* may go first (plan_route_order_may_lead) */
    /* faster than the first: the command that measures what is missing of it, or of the first
     * where that rests on less; "" no such */
    char worth_measuring[SOURCE_COMMAND_SIZE];
    struct prediction predicted;
    /* of the snapshot: what it shares, with what moves meanwhile or with itself, and is slowed
     * by; NULL nothing */
    const char *shared;
    /* kernels of what moves meanwhile on the gpu of each hop that is one, too */
    uint8_t beside[ROUTE_WAYS_MAX][WAY_HOPS_MAX];
    size_t why, why_count; /* a range of the answer's evidence */
};

/* Below bytes the first option wins, from there on the second. */
struct route_crossover {
    int64_t bytes;
    size_t below, above;
};

/* Several ways that very many bytes would take one way only, of which the answer takes fewer, and
 * what the direct one gets alone. */
struct route_left_out {
    size_t ways, taken; /* 0 ways: none */
    double bytes_per_s, direct_bytes_per_s;
};

struct route_answer {
    /* where both directions are asked for, and nobody measured what these get then */
    struct route_left_out left_out;
    /* owned, ROUTE_OPTIONS_MAX at most; what is known for such a size before what is not; the
     * first is the fastest that may lead (plan/route/order.h); the others follow as they are fast
     */
    struct route_option *option;
    size_t count;
    /* ascending by bytes; none when something moves meanwhile */
    struct route_crossover crossover[ROUTE_CROSSOVERS];
    size_t crossover_count;
    /* from this size on the first option gets 80 % of its highest rate; NAN unknown, or something
     * moves meanwhile */
    double b80_bytes;
    struct evidence evidence;
    struct reasons warnings;
    struct reasons reasons; /* sentences: what decided */
};

/* How many of so many bytes an option moves at a time over one of its ways. */
static inline double plan_route_answer_piece(const struct route_option *option, size_t way,
                                             double bytes)
{
    double all = option->share[way] * bytes, chunk = option->chunk_bytes[way];
    return chunk > 0 && chunk < all ? chunk : all;
}

/* Whether all that the time of so many bytes rests on was measured, of just that. */
static inline bool plan_route_answer_is_measured(const struct route_option *option, double bytes)
{
    bool all =
        option->knows_both && option->is_together && !option->is_by_links && !option->is_at_least;
    for (size_t w = 0; w < option->way_count; w++)
        for (size_t i = 0; i < option->way[w].hop_count; i++) {
            const struct move *hop = &option->way[w].hop[i];
            double piece = plan_route_answer_piece(option, w, bytes);
            all = all && plan_move_knows(hop, piece) &&
                  !plan_move_is_by_another(hop, option->share[w] * bytes, piece) &&
                  hop->rate != NULL && hop->rate->source == VALUE_MEASURED &&
                  !hop->is_slowed_by_guess;
        }
    return all;
}

/* Whether an option is one transfer. */
static inline bool plan_route_answer_is_direct(const struct route_option *option)
{
    return option->way_count == 1 && option->way[0].hop_count == 1;
}
