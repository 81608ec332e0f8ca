#include "search/search.h"

#include <math.h>
#include <string.h>

#include "search/work.h"

/* Steps of local search: before branch and bound, which it gives a good choice to begin with, and
 * in its place. */
#define FIRST_STEPS  300
#define FIRST_PRICES 64
#define STARTS       4
#define STEPS        24  /* from one start, by berth and slot */
#define TOUCHES_MAX  3e6 /* flows of all steps from one start */
#define PRICES_MAX   300
#define PRICED_MAX   1e6 /* squares of the flows of all choices priced */
#define FIRST_MAX    3e7 /* likewise of the first ones, when they are more than a few */

static bool run(struct search_work *work)
{
    struct search_result *result = &work->result;
    const struct search_problem *problem = work->problem;
    double flows = (double)problem->flow_count + 1,
           first = fmin(FIRST_MAX / (flows * flows) + 1, FIRST_PRICES);
    bool is_covered;
    for (size_t f = 0; f < problem->flow_count; f++)
        result->bound_ns =
            fmax(result->bound_ns, plan_search_work_least(problem, &problem->flow[f]));
    for (size_t r = 0; r < problem->resources; r++)
        if (work->all[r] > problem->start_ns[r])
            result->bound_ns = fmax(result->bound_ns, work->all[r]);
    plan_search_work_order(work, work->best);
    plan_search_work_try(work, work->best);
    work->scale = 1 / fmax(result->cost.time_ns, 1e-3);
    if (!plan_search_local(work, 1, FIRST_STEPS, (size_t)first) ||
        !plan_search_exact(work, &is_covered))
        return false;
    double steps = fmin(TOUCHES_MAX / flows, STEPS * (double)(work->berths * problem->slots)),
           prices = fmin(PRICED_MAX / (flows * flows) + first, PRICES_MAX);
    if (!is_covered && !plan_search_local(work, STARTS, (size_t)steps, (size_t)prices))
        return false;
    result->is_proven =
        is_covered ||
        (result->cost.over == 0 && result->cost.time_ns <= result->bound_ns * (1 + SEARCH_SAME));
    if (result->is_proven)
        result->bound_ns = result->cost.time_ns;
    return true;
}

bool plan_search(const struct search_problem *problem, uint16_t *ret_slot,
                 struct search_result *ret)
{
    struct search_work work;
    bool ok = plan_search_work_init(&work, problem) && run(&work);
    if (ok) {
        memcpy(ret_slot, work.best, work.berths * sizeof *ret_slot);
        *ret = work.result;
    }
    plan_search_work_done(&work);
    return ok;
}

bool plan_search_settle(const struct search_problem *problem, double same, uint16_t *slot,
                        struct search_result *result)
{
    struct search_work work;
    bool ok = plan_search_work_init(&work, problem);
    if (ok) {
        const struct search_cost *best = &result->cost;
        plan_search_work_order(&work, work.best);
        struct search_cost in_order = plan_search_work_cost(&work, work.best);
        double most = 1 + fmax(same, SEARCH_SAME);
        if (in_order.over <= best->over && in_order.time_ns <= best->time_ns * most &&
            in_order.apart <= best->apart && in_order.sum_ns <= best->sum_ns * most &&
            in_order.far <= best->far) {
            memcpy(slot, work.best, work.berths * sizeof *slot);
            result->settled = best->time_ns > 0 ? fmax(in_order.time_ns / best->time_ns - 1, 0) : 0;
            result->cost = in_order;
        }
    }
    plan_search_work_done(&work);
    return ok;
}
