#include "plan/route/sizes.h"

#include <math.h>
#include <stdlib.h>

#include "plan/route/order.h"
#include "plan/route/price.h"

#define LEAST_BYTES 4096.0 /* sampled: 4 KiB to very many, powers of two */
#define CLOSE       1.01   /* a size is found to within a hundredth */

struct sizes {
    const struct route_answer *answer;
    const struct route_option *reference;
    struct price *price; /* by option, those that may lead at all */
};

static bool all_known(const struct sizes *sizes, double bytes)
{
    for (size_t i = 0; i < sizes->answer->count; i++) {
        const struct route_option *option = &sizes->answer->option[i];
        for (size_t p = 0; p < option->part_count && option->may_lead_at_all; p++)
            for (size_t h = 0; h < option->part[p].hop_count; h++)
                if (option->part[p].share * bytes < option->part[p].hop[h].least_bytes)
                    return false;
    }
    return true;
}

/* Finds the option that leads for so many bytes. */
static size_t leader(const struct sizes *sizes, double bytes)
{
    const struct route_answer *answer = sizes->answer;
    double time_ns[ROUTE_OPTIONS_MAX], least_ns = INFINITY, reference_ns = INFINITY;
    size_t best = 0;
    for (size_t i = 0; i < answer->count; i++) {
        time_ns[i] =
            answer->option[i].may_lead_at_all ? price_time_ns(&sizes->price[i], bytes) : INFINITY;
        if (&answer->option[i] == sizes->reference)
            reference_ns = time_ns[i];
    }
    for (size_t i = 0; i < answer->count; i++)
        if (order_gains(&answer->option[i], sizes->reference, time_ns[i], reference_ns) &&
            time_ns[i] < least_ns) {
            least_ns = time_ns[i];
            best = i;
        }
    return best;
}

/* True when the first option gets less than 80 % of its highest rate. */
static size_t is_slow(const struct sizes *sizes, double bytes)
{
    double most = 0.8 * PRICE_MANY / sizes->answer->option[0].many_ns;
    return bytes / price_time_ns(&sizes->price[0], bytes) < most;
}

/* Returns the size at which a property changes from what it is at left to another, of which it is
 * ret at the end; right where it does not change. */
static double change(const struct sizes *sizes, size_t property(const struct sizes *, double),
                     double left, double right, size_t *ret)
{
    size_t before = property(sizes, left);
    *ret = property(sizes, right);
    while (*ret != before && right > left * CLOSE) {
        double middle = sqrt(left * right);
        size_t its = property(sizes, middle);
        *(its == before ? &left : &right) = middle;
        *ret = its == before ? *ret : its;
    }
    return right;
}

static void find_crossovers(const struct sizes *sizes, struct route_answer *answer)
{
    double low = LEAST_BYTES;
    while (low < PRICE_MANY && !all_known(sizes, low))
        low *= 2;
    size_t below = leader(sizes, low), above;
    while (low < PRICE_MANY && answer->crossover_count < ROUTE_CROSSOVERS) {
        low = change(sizes, leader, low, 2 * low, &above);
        if (above != below)
            answer->crossover[answer->crossover_count++] =
                (struct route_crossover){(int64_t)low, below, above};
        below = above;
    }
}

/* NAN when a start-up time is not known. */
static double b80(const struct sizes *sizes)
{
    const struct route_option *option = &sizes->answer->option[0];
    size_t still;
    for (size_t p = 0; p < option->part_count; p++)
        for (size_t i = 0; i < option->part[p].hop_count; i++)
            if (isnan(option->part[p].hop[i].t0_call_ns))
                return NAN;
    return is_slow(sizes, 1) ? change(sizes, is_slow, 1, PRICE_MANY, &still) : 1;
}

bool sizes_find(const struct route_work *work)
{
    struct route_answer *answer = work->answer;
    struct sizes sizes = {answer, order_reference(answer),
                          malloc(answer->count * sizeof *sizes.price)};
    if (sizes.price == NULL)
        return false;
    for (size_t i = 0; i < answer->count; i++)
        if (answer->option[i].may_lead_at_all)
            price_begin(work, &answer->option[i], &sizes.price[i]);
    find_crossovers(&sizes, answer);
    answer->b80_bytes = b80(&sizes);
    free(sizes.price);
    return true;
}
