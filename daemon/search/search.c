#include "search/search.h"

#include <math.h>
#include <string.h>

#include "search/work.h"

/* Steps of local search: before branch and bound, which it gives a good choice to begin with, and
 * in its place. */
#define FIRST_STEPS  300
#define FIRST_PRICES 8
#define STARTS       4
#define STEPS        24  /* from one start, by berth and slot */
#define TOUCHES_MAX  3e6 /* flows of all steps from one start */

/* Prices, by flows and their kinds, which is what a simulator's time goes with; of many flows also
 * by their square. */
#define MANY        16
#define EXACT_UNITS 3e5
#define LOCAL_UNITS 1e6
#define LOCAL_MAX   300

static bool run(struct search_work *work)
{
    struct search_result *result = &work->result;
    const struct search_problem *problem = work->problem;
    double flows = (double)problem->flow_count + 1,
           unit = flows * ((double)problem->kinds + 1 + flows / MANY),
           touches = fmin(TOUCHES_MAX / flows, STEPS * (double)(work->berths * problem->slots));
    bool is_covered;
    for (size_t f = 0; f < problem->flow_count; f++)
        result->bound_ns =
            fmax(result->bound_ns, plan_search_work_least(problem, &problem->flow[f]));
    plan_search_work_order(work, work->best);
    plan_search_work_try(work, work->best);
    if (!plan_search_local(work, 1, FIRST_STEPS, FIRST_PRICES) ||
        !plan_search_exact(work, (size_t)(EXACT_UNITS / unit) + 1, &is_covered))
        return false;
    if (!is_covered &&
        !plan_search_local(work, STARTS, (size_t)touches,
                           (size_t)fmin(LOCAL_UNITS / unit + FIRST_PRICES, LOCAL_MAX)))
        return false;
    result->is_proven = is_covered || plan_search_work_is_least(work);
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
        if (in_order.over <= best->over && in_order.lack <= best->lack &&
            in_order.time_ns <= best->time_ns * most && in_order.apart <= best->apart &&
            in_order.far <= best->far) {
            memcpy(slot, work.best, work.berths * sizeof *slot);
            result->settled = best->time_ns > 0 ? fmax(in_order.time_ns / best->time_ns - 1, 0) : 0;
            result->cost = in_order;
        }
    }
    plan_search_work_done(&work);
    return ok;
}
