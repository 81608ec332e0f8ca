#include "plan_route_order.h"

#include <math.h>

static bool is_direct(const struct route_option *option) { return plan_route_answer_is_direct(option) && !option->is_guess; }

static size_t hops_of(const struct route_option *option)
{
    size_t hops = 0;
    for (size_t i = 0; i < option->way_count; i++)
        hops += option->way[i].hop_count;
    return hops;
}

/* Of one that only links tell of, and whose engines may not fill these (engine_limit.h): a kernel goes before it, as in Bind. */
static bool is_doubtful_engine(const struct route_option *option) { return option->way[0].hop[0].engine != NULL && option->way[0].hop[0].rate == NULL; }

/* What is known for this size first, then faster, then fewer hops, then copy engines, which leave the gpus free; as the first of all not what is not clear. */
static bool goes_before(const struct route_option *x, const struct route_option *y, bool leads)
{
    if (x->is_known != y->is_known)
        return x->is_known;
    if (leads && x->is_clear != y->is_clear)
        return x->is_clear;
    if (x->predicted.time_ns != y->predicted.time_ns)
        return x->predicted.time_ns < y->predicted.time_ns;
    if (hops_of(x) != hops_of(y))
        return hops_of(x) < hops_of(y);
    if (is_doubtful_engine(x) != is_doubtful_engine(y) && x->way[0].hop[0].by != y->way[0].hop[0].by)
        return is_doubtful_engine(y);
    return x->way[0].hop[0].by < y->way[0].hop[0].by;
}

/* By rates, not by the times of that size: so that a few bytes more do not take less because another option may lead from there on. */
static void find_clear(struct route_answer *answer)
{
    double most = 0;
    for (size_t i = 0; i < answer->count; i++)
        if (is_direct(&answer->option[i]))
            most = fmax(most, plan_split_rate(answer->option[i].way, answer->option[i].way_count));
    for (size_t i = 0; i < answer->count; i++) {
        struct route_option *option = &answer->option[i];
        option->is_clear = is_direct(option) || (!option->is_by_links && !option->is_guess && ROUTE_WORTH * plan_split_rate(option->way, option->way_count) > most);
    }
}

enum sort { ANY, DIRECT, CLEAR_OTHERS };

static bool is_of(const struct route_option *option, enum sort sort)
{
    return sort == ANY || (sort == DIRECT ? is_direct(option) : option->is_clear && !is_direct(option));
}

/* That which goes before all others of a sort from there on; the count where there is none. */
static size_t first_of(const struct route_answer *answer, size_t from, enum sort sort)
{
    size_t first = answer->count;
    for (size_t i = from; i < answer->count; i++)
        if (is_of(&answer->option[i], sort) && (first == answer->count || goes_before(&answer->option[i], &answer->option[first], from == 0)))
            first = i;
    return first;
}

/* By how much less than the other's time its own must be, as a fraction of it. */
static double doubt_of(const struct prediction *its, const struct prediction *others)
{
    double ns = hypot(its->time_ns - its->low_ns, others->high_ns - others->time_ns);
    return isnan(ns) ? ROUTE_DOUBT : fmin(ns / its->time_ns, ROUTE_DOUBT_MOST);
}

static size_t leader(struct route_answer *answer)
{
    size_t first = first_of(answer, 0, ANY), direct = first_of(answer, 0, DIRECT), around = first_of(answer, 0, CLEAR_OTHERS);
    if (direct == answer->count || around == answer->count)
        return first;
    const struct route_option *its = &answer->option[around], *other = &answer->option[direct];
    answer->doubt = doubt_of(&its->predicted, &other->predicted);
    bool is_better = other->predicted.time_ns > its->predicted.time_ns * (1 + answer->doubt);
    return first == around && other->is_known == its->is_known && !is_better ? direct : first;
}

/* There are few, and they are large: each is moved once at most. */
void plan_route_order(struct route_answer *answer)
{
    find_clear(answer);
    for (size_t i = 0; i + 1 < answer->count; i++) {
        size_t first = i == 0 ? leader(answer) : first_of(answer, i, ANY);
        if (first != i) {
            struct route_option option = answer->option[i];
            answer->option[i] = answer->option[first];
            answer->option[first] = option;
        }
    }
}
