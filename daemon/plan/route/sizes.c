#include "plan/route/sizes.h"

#include <math.h>
#include <string.h>

#include "plan/route/order.h"

#define LEAST_BYTES 4096.0
#define MOST_BYTES  17179869184.0 /* where crossovers are looked for: 4 KiB to 16 GiB */

/* Whether more is known of each for such a size than a rate of large ones. */
static bool all_known(const struct route_answer *answer, double bytes)
{
    for (size_t i = 0; i < answer->count; i++)
        for (size_t w = 0; w < answer->option[i].way_count && !answer->option[i].is_guess; w++)
            if (!plan_way_knows(&answer->option[i].way[w], answer->option[i].share[w] * bytes))
                return false;
    return true;
}

/* How long each option took for so many bytes when it was looked at last: more bytes take as long
 * at least, and no longer for each byte, but for what a rough time is off. */
#define ROUGH 0.95

/* The first ways of a split without its last ones, which fewer bytes go faster by: as slow as they
 * are together then. */
struct fewer {
    struct way way[ROUTE_WAYS_MAX][ROUTE_WAYS_MAX];
    struct split split[ROUTE_WAYS_MAX]; /* of these */
    bool may_lead[ROUTE_WAYS_MAX];      /* by number of ways less 1 */
    /* bytes / rate and least_ns is no more than they take */
    double rate[ROUTE_WAYS_MAX], least_ns[ROUTE_WAYS_MAX];
};

struct sizes {
    struct route_answer *answer;
    const struct route_option *direct; /* what others are compared with */
    struct fewer fewer;
    struct split split[ROUTE_OPTIONS_MAX]; /* begun when an option is first looked at */
};

struct looked {
    double bytes[ROUTE_OPTIONS_MAX], time_ns[ROUTE_OPTIONS_MAX]; /* 0 bytes: not yet */
};

static double time_of(struct sizes *sizes, size_t i, double bytes, double rival_ns)
{
    const struct route_option *option = &sizes->answer->option[i];
    struct split *split = &sizes->split[i];
    if (split->count == 0)
        plan_split_begin(option->way, option->way_count, split);
    return plan_split_again_ns(split, bytes, rival_ns);
}

static double look(struct sizes *sizes, size_t i, double bytes, double rival_ns,
                   struct looked *looked)
{
    const struct route_option *option = &sizes->answer->option[i];
    struct fewer *fewer = &sizes->fewer;
    double time_ns = time_of(sizes, i, bytes, rival_ns);
    for (size_t count = 2; count < option->way_count; count++)
        if (fewer->may_lead[count - 1] &&
            bytes / fewer->rate[count - 1] * 1e9 + fewer->least_ns[count - 1] < time_ns)
            time_ns = fmin(time_ns, plan_split_again_ns(&fewer->split[count - 1], bytes, rival_ns));
    looked->bytes[i] = bytes;
    return looked->time_ns[i] = time_ns;
}

/* Of those that may lead. What takes several transfers takes long to price, too: only where it
 * matters. */
static size_t fastest(struct sizes *sizes, double bytes, struct looked *looked)
{
    const struct route_answer *answer = sizes->answer;
    double low_ns[ROUTE_OPTIONS_MAX] = {0}, high_ns[ROUTE_OPTIONS_MAX], best_ns = INFINITY,
           least_ns = INFINITY, enough_ns = INFINITY;
    size_t best = 0, least = 0, rivals = 0;
    for (size_t i = 0; i < answer->count; i++) {
        const struct route_option *option = &answer->option[i];
        low_ns[i] = high_ns[i] = INFINITY;
        if (!option->is_clear || !plan_route_answer_is_direct(option))
            continue;
        low_ns[i] = high_ns[i] = look(sizes, i, bytes, INFINITY, looked);
        if (option == sizes->direct)
            enough_ns = high_ns[i] / (1 + ROUTE_DOUBT);
    }
    for (size_t i = 0; i < answer->count; i++) {
        bool may_lead = low_ns[i] < INFINITY &&
                        (plan_route_order_worth(&answer->option[i], sizes->direct) == 1 ||
                         low_ns[i] < enough_ns);
        low_ns[i] = high_ns[i] = may_lead ? low_ns[i] : INFINITY;
        best = high_ns[i] < best_ns ? i : best;
        best_ns = fmin(best_ns, high_ns[i]);
    }
    for (size_t i = 0; i < answer->count; i++) {
        if (answer->option[i].is_clear && !plan_route_answer_is_direct(&answer->option[i])) {
            low_ns[i] = ROUGH * looked->time_ns[i];
            high_ns[i] = looked->bytes[i] > 0
                             ? looked->time_ns[i] * bytes / looked->bytes[i] / ROUGH
                             : INFINITY;
            low_ns[i] = low_ns[i] < enough_ns ? low_ns[i] : INFINITY;
            high_ns[i] = high_ns[i] < enough_ns ? high_ns[i] : INFINITY;
        }
        least = high_ns[i] < least_ns ? i : least;
        least_ns = fmin(least_ns, high_ns[i]);
    }
    for (size_t i = 0; i < answer->count; i++)
        rivals += i != least && low_ns[i] < least_ns;
    if (rivals == 0 && least_ns < INFINITY)
        return least;
    best_ns = fmin(best_ns, enough_ns);
    for (size_t i = 0; i < answer->count; i++) {
        if (plan_route_answer_is_direct(&answer->option[i]) || low_ns[i] >= best_ns)
            continue;
        double time_ns = look(sizes, i, bytes, best_ns, looked);
        best = time_ns < best_ns ? i : best;
        best_ns = fmin(best_ns, time_ns);
    }
    return best;
}

/* Where the winner changes, to within a hundredth; not where something is known of some only. */
static void find_crossovers(struct sizes *sizes)
{
    struct route_answer *answer = sizes->answer;
    struct looked looked = {{0}, {0}};
    double low = LEAST_BYTES;
    while (low < MOST_BYTES && !all_known(answer, low))
        low *= 2;
    size_t below = fastest(sizes, low, &looked);
    while (low < MOST_BYTES && answer->crossover_count < ROUTE_CROSSOVERS) {
        double high = 2 * low;
        struct looked at_low = looked;
        size_t above = fastest(sizes, high, &looked);
        if (above == below) {
            low = high;
            continue;
        }
        double left = low, right = high;
        while (right > left * 1.01) {
            double middle = sqrt(left * right);
            struct looked at_middle = at_low;
            size_t winner = fastest(sizes, middle, &at_middle);
            *(winner == below ? &left : &right) = middle;
            above = winner == below ? above : winner;
        }
        answer->crossover[answer->crossover_count++] =
            (struct route_crossover){(int64_t)right, below, above};
        looked = at_low;
        below = above;
        low = right;
    }
}

/* Where an option that took T0 and then moved its bytes at the highest rate gets 80 % of it is at 4
 * T0 Wmax; T0 is found anew at each such size until it stays. Where the time of several ways jumps
 * there, as they go in other pieces, it goes to and fro: then it is between the two. */
#define B80_STEPS 9

/* The size from which on the option gets 80 % of what it gets for very many bytes; NAN when what
 * starting it costs is not known. */
static double b80(struct sizes *sizes)
{
    const struct route_option *option = &sizes->answer->option[0];
    double top = 0, bytes = LEAST_BYTES;
    for (size_t w = 0; w < option->way_count; w++) {
        top += plan_way_rate(&option->way[w]);
        for (size_t i = 0; i < option->way[w].hop_count; i++)
            if (isnan(option->way[w].hop[i].t0_call_ns))
                return NAN;
    }
    for (int step = 0; step < B80_STEPS; step++) {
        double before = bytes,
               start_ns = fmax(time_of(sizes, 0, bytes, INFINITY) - bytes / top * 1e9, 0);
        bytes = 4 * start_ns * 1e-9 * top;
        if (fabs(bytes - before) <= 5e-3 * bytes)
            return bytes;
        if (step + 1 == B80_STEPS)
            return (before + bytes) / 2;
    }
    return bytes;
}

/* An answer has one split at most that may lead. */
static void find_fewer(const struct way_ends *ends, const struct route_answer *answer,
                       struct fewer *ret)
{
    const struct route_option *compared = plan_route_order_direct(answer);
    double direct = compared != NULL ? plan_way_rate(&compared->way[0]) : 0;
    memset(ret->may_lead, 0, sizeof ret->may_lead);
    memset(ret->rate, 0, sizeof ret->rate);
    memset(ret->least_ns, 0, sizeof ret->least_ns);
    for (size_t i = 0; i < answer->count; i++)
        for (size_t count = 2; count < answer->option[i].way_count && answer->option[i].is_clear;
             count++) {
            const char *shared;
            struct way *way = ret->way[count - 1];
            memcpy(way, answer->option[i].way, count * sizeof *way);
            ret->may_lead[count - 1] =
                plan_share_ways(ends, way, count, &shared) &&
                plan_source_may_lead(way, count, plan_source_is_together(ends, way, count),
                                     SOURCE_MEASURED) &&
                ROUTE_WORTH * plan_split_rate(way, count) > direct;
            ret->rate[count - 1] = plan_split_rate(way, count);
            ret->least_ns[count - 1] = plan_chain_least_ns(way, count);
            if (ret->may_lead[count - 1])
                plan_split_begin(way, count, &ret->split[count - 1]);
        }
}

void plan_route_sizes(const struct way_ends *ends, struct route_answer *answer)
{
    struct sizes sizes; /* it is large: only what is read is set */
    sizes.answer = answer;
    sizes.direct = plan_route_order_direct(answer);
    for (size_t i = 0; i < ROUTE_OPTIONS_MAX; i++)
        sizes.split[i].count = 0;
    find_fewer(ends, answer, &sizes.fewer);
    find_crossovers(&sizes);
    answer->b80_bytes = b80(&sizes);
}
