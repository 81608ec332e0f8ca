#include "plan/route/order.h"

static bool is_direct(const struct route_option *option)
{
    return plan_route_answer_is_direct(option) && !option->is_guess;
}

static double rate_of(const struct route_option *option)
{
    return plan_split_rate(option->way, option->way_count);
}

static enum source source_of(const struct route_option *option)
{
    return plan_source_of_ways(option->way, option->way_count);
}

/* Of two direct ways. */
static bool is_better(const struct route_option *option, const struct route_option *found)
{
    if (option->is_known != found->is_known)
        return option->is_known;
    if (source_of(option) != source_of(found))
        return source_of(option) < source_of(found);
    return option->way[0].hop[0].by < found->way[0].hop[0].by;
}

const struct route_option *plan_route_order_direct(const struct route_answer *answer)
{
    const struct route_option *found = NULL;
    for (size_t i = 0; i < answer->count; i++) {
        const struct route_option *option = &answer->option[i];
        if (is_direct(option) && (found == NULL || is_better(option, found)))
            found = option;
    }
    return found;
}

unsigned plan_route_order_firsts(const struct route_answer *answer)
{
    unsigned firsts = 0;
    for (size_t i = 0; i < answer->count; i++) {
        const struct route_option *option = &answer->option[i];
        bool is_first = plan_route_answer_is_direct(option) && option->is_known &&
                        option->way[0].pair[0] != NULL;
        firsts |= is_first ? 1U << option->way[0].hop[0].by : 0;
    }
    return firsts;
}

/* Of one that only links tell of, and whose engines may not fill these (node/engine_limit.h): a
 * kernel goes before it, as in Bind. */
static bool is_doubtful_engine(const struct route_option *option)
{
    return option->way[0].hop[0].engine != NULL && option->way[0].hop[0].rate == NULL;
}

/* By copy engine the gpus stay free, and it is what one does by default. */
double plan_route_order_worth(const struct route_option *option, const struct route_option *direct)
{
    const struct move *hop = &option->way[0].hop[0];
    bool is_unsure =
        hop->is_like || hop->is_start_like || hop->is_slowed_by_guess || !option->knows_both;
    return direct != NULL && hop->by == MOVE_KERNEL &&
                   direct->way[0].hop[0].by == MOVE_COPY_ENGINE && is_unsure &&
                   !is_doubtful_engine(direct)
               ? 1 + ROUTE_DOUBT
               : 1;
}

/* By rates and not by the times of that size: so that a few bytes more do not take less because
 * another option may lead from there on. */
bool plan_route_order_may_lead(struct route_option *option, const struct route_option *direct)
{
    bool is_one = plan_route_answer_is_direct(option);
    option->is_evident =
        plan_source_may_lead(option->way, option->way_count, option->is_together,
                             direct != NULL && is_one ? source_of(direct) : SOURCE_NOMINAL);
    option->is_clear =
        option->is_evident &&
        (is_direct(option) || (direct != NULL && !option->is_by_links && !option->is_guess &&
                               ROUTE_WORTH * rate_of(option) > rate_of(direct)));
    double worth = is_direct(option) ? plan_route_order_worth(option, direct) : 1 + ROUTE_DOUBT;
    return option->is_clear && (worth == 1 || (direct != NULL && option->predicted.time_ns * worth <
                                                                     direct->predicted.time_ns));
}

static size_t hops_of(const struct route_option *option)
{
    size_t hops = 0;
    for (size_t i = 0; i < option->way_count; i++)
        hops += option->way[i].hop_count;
    return hops;
}

/* What is known for this size first, then faster, then fewer hops, then copy engines, which leave
 * the gpus free. */
static bool goes_before(const struct route_option *x, const struct route_option *y)
{
    if (x->is_known != y->is_known)
        return x->is_known;
    if (x->predicted.time_ns != y->predicted.time_ns)
        return x->predicted.time_ns < y->predicted.time_ns;
    if (hops_of(x) != hops_of(y))
        return hops_of(x) < hops_of(y);
    if (is_doubtful_engine(x) != is_doubtful_engine(y) &&
        x->way[0].hop[0].by != y->way[0].hop[0].by)
        return is_doubtful_engine(y);
    return x->way[0].hop[0].by < y->way[0].hop[0].by;
}

/* Of those that are there from there on. One that may lead, if any may, is the first of all. */
static size_t first_of(const struct route_answer *answer, size_t from, const bool *may_lead)
{
    size_t first = from;
    for (size_t i = from + 1; i < answer->count; i++) {
        const struct route_option *option = &answer->option[i], *best = &answer->option[first];
        bool leads =
            from == 0 && option->is_known == best->is_known && may_lead[i] != may_lead[first];
        if (leads ? may_lead[i] : goes_before(option, best))
            first = i;
    }
    return first;
}

/* There are few, and they are large: each is moved once at most. */
void plan_route_order(struct route_answer *answer)
{
    const struct route_option *direct = plan_route_order_direct(answer);
    bool may_lead[ROUTE_OPTIONS_MAX];
    for (size_t i = 0; i < answer->count; i++)
        may_lead[i] = answer->option[i].may_lead =
            plan_route_order_may_lead(&answer->option[i], direct);
    for (size_t i = 0; i + 1 < answer->count; i++) {
        size_t first = first_of(answer, i, may_lead);
        if (first != i) {
            struct route_option option = answer->option[i];
            answer->option[i] = answer->option[first];
            answer->option[first] = option;
        }
    }
}
