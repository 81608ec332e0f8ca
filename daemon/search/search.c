#include "search/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/bound.h"
#include "search/exact.h"
#include "search/swap.h"

/* Whether there is one choice only, but for tasks that traffic cannot tell apart. */
static bool is_only_choice(const struct search_work *work)
{
    const struct search_problem *problem = work->problem;
    bool is_all = work->berths == problem->slots * work->fullest;
    if (!is_all || problem->in_order)
        return is_all;
    for (size_t t = 1; t < problem->tasks; t++)
        if (problem->each > 1 || !plan_search_work_same(work, t - 1, t))
            return false;
    return true;
}

/* Whether there are so few choices that all can be looked at: one after the other the berths of a
 * task have slots that ascend; in order all have. */
static bool has_few_choices(const struct search_work *work)
{
    const struct search_problem *problem = work->problem;
    double choices = 1;
    for (size_t b = 0; b < work->berths && choices <= SEARCH_EXACT_CHOICES * (double)work->berths;
         b++) {
        size_t ascending = problem->in_order ? b : b % problem->each;
        choices *= (double)(problem->slots - b) / (double)(ascending + 1);
    }
    return work->fullest == 1 && choices <= SEARCH_EXACT_CHOICES;
}

static bool run(struct search_work *work)
{
    struct search_result *result = &work->result;
    bool only = is_only_choice(work),
         exact = !only && (work->problem->slots <= SEARCH_EXACT_SLOTS || has_few_choices(work));
    if (!plan_search_bound(work))
        return false;
    if (!plan_search_swap(work, false, exact))
        return false;
    if (exact && !plan_search_exact(work))
        return false;
    result->is_proven = result->is_proven || plan_search_work_is_least(work) || only;
    work->looked = 0; /* what could not be proven can still become better */
    if (!result->is_proven && !plan_search_swap(work, true, false))
        return false;
    result->is_proven = result->is_proven || plan_search_work_is_least(work);
    if (result->is_proven)
        result->bound_ns = result->cost.time_ns;
    return true;
}

bool plan_search(const struct search_problem *problem, uint16_t *ret_slot,
                 struct search_result *ret)
{
    struct search_work work;
    bool ok = plan_search_work_init(&work, problem);
    ok = ok && run(&work);
    if (ok) {
        memcpy(ret_slot, work.best, work.berths * sizeof *ret_slot);
        *ret = work.result;
    }
    plan_search_work_done(&work);
    return ok;
}

bool plan_search_least(const struct search_problem *problem, double *ret_ns)
{
    struct search_work work;
    bool ok = plan_search_work_init(&work, problem) && plan_search_bound(&work);
    if (ok)
        *ret_ns = work.result.bound_ns;
    plan_search_work_done(&work);
    return ok;
}

/* ---- what takes equally long ---- */

static struct search_cost cost_of(const struct search_problem *problem, const uint16_t *slot)
{
    struct search_cost cost = problem->price(problem->context, slot);
    plan_search_work_far(problem, slot, &cost);
    return cost;
}

/* As far as is known: who leaves the order for less than that moves by chance, and as often for the
 * worse. */
static bool is_as_good(const struct search_cost *a, const struct search_cost *b, double same)
{
    return a->over <= b->over &&
           a->time_ns <= b->time_ns * (1 + fmax(SEARCH_SAME, fmin(same, SEARCH_SETTLED))) &&
           a->apart <= b->apart && a->sum_ns <= b->sum_ns * (1 + same) && a->far <= b->far &&
           a->crowd <= b->crowd * (1 + SEARCH_SAME);
}

bool plan_search_settle(const struct search_problem *problem, double same, uint16_t *slot,
                        struct search_result *result)
{
    size_t berths = problem->tasks * problem->each;
    uint16_t *order = calloc(berths, sizeof *order);
    if (order == NULL)
        return false;
    plan_search_work_order(problem, order);
    struct search_cost in_order = cost_of(problem, order);
    if (is_as_good(&in_order, &result->cost, same)) {
        memcpy(slot, order, berths * sizeof *slot);
        result->settled =
            result->cost.time_ns > 0 ? fmax(in_order.time_ns / result->cost.time_ns - 1, 0) : 0;
        result->cost = in_order;
    }
    result->known = same;
    result->is_in_order = memcmp(slot, order, berths * sizeof *slot) == 0;
    free(order);
    return true;
}

bool plan_search_is_as_good(const struct search_result *in_order, const struct search_result *other)
{
    return is_as_good(&in_order->cost, &other->cost, other->known);
}
