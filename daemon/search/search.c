#include "search/search.h"

#include <math.h>
#include <string.h>

#include "search/work.h"

/* Steps of local search: before branch and bound, which it gives a good choice to begin with, and
 * in its place. */
#define FIRST_STEPS  300
#define FIRST_PRICES 8
#define STARTS       4
#define STEPS        24  /* from one start, by gpu and slot */
#define TOUCHES_MAX  3e6 /* flows of all steps from one start */

/* Resources that are as full as that, beside the fullest, share its flows in the bound. */
#define SHARED_TENTHS 5

/* Prices, by flows and their kinds, which is what a simulator's time goes with; of many flows also
 * by their square. */
#define MANY        16
#define EXACT_UNITS 3e5
#define LOCAL_UNITS 1e6
#define LOCAL_MAX   300

/* Takes the slots in order, which cost so much, where the time is hardly more and nothing else but
 * the sum is more; of shared slots the way to the host does not count either. */
static void settle(struct search_work *work, const struct search_cost *in_order)
{
    struct search_result *result = &work->result;
    double share = in_order->time_ns / fmax(result->cost.time_ns, 1e-3) - 1;
    bool is_far = in_order->far > result->cost.far && work->fullest == 1;
    if (work->problem->stays == 0 || in_order->over > result->cost.over ||
        in_order->lack > result->cost.lack || share > work->problem->stays ||
        in_order->apart > result->cost.apart || is_far)
        return;
    plan_search_in_order(work->problem->slots, work->gpus, work->best);
    result->settled = fmax(share, 0);
    result->cost = *in_order;
}

static bool run(struct search_work *work)
{
    struct search_result *result = &work->result;
    const struct search_problem *problem = work->problem;
    double flows = (double)problem->flow_count + 1,
           unit = flows * ((double)problem->kinds + 1 + flows / MANY),
           touches = fmin(TOUCHES_MAX / flows, STEPS * (double)(work->gpus * problem->slots));
    bool is_covered;
    for (size_t f = 0; f < problem->flow_count; f++)
        result->bound_ns =
            fmax(result->bound_ns, plan_search_work_least(problem, &problem->flow[f]));
    plan_search_in_order(work->problem->slots, work->gpus, work->best);
    plan_search_work_try(work, work->best);
    struct search_cost in_order = result->cost;
    if (!plan_search_local(work, 1, FIRST_STEPS, FIRST_PRICES))
        return false;
    for (int tenths = 10; tenths >= SHARED_TENTHS; tenths--)
        plan_search_work_share(work, tenths / (10 * (1 + problem->same)));
    if (!plan_search_exact(work, (size_t)(EXACT_UNITS / unit) + 1, &is_covered))
        return false;
    if (!is_covered &&
        !plan_search_local(work, problem->slots > SEARCH_EXACT_SLOTS ? STARTS : 1, (size_t)touches,
                           (size_t)fmin(LOCAL_UNITS / unit + FIRST_PRICES, LOCAL_MAX)))
        return false;
    result->is_proven = is_covered || plan_search_work_is_least(work);
    settle(work, &in_order);
    return true;
}

bool plan_search(const struct search_problem *problem, uint16_t *ret_slot,
                 struct search_result *ret)
{
    struct search_work work;
    bool ok = plan_search_work_init(&work, problem) && run(&work);
    if (ok) {
        memcpy(ret_slot, work.best, work.gpus * sizeof *ret_slot);
        *ret = work.result;
    }
    plan_search_work_done(&work);
    return ok;
}
