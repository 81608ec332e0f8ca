#include "cost/resource_uneven.h"

#include <math.h>

static unsigned users_in(const struct resource_limit *limit, const struct resource_run *run)
{
    unsigned users = 0;
    for (size_t i = 0; i < run->count; i++)
        users += limit->users[run->flow[i]];
    return users;
}

/* How far off the last end is of flows of a run with as many bytes each that share as they were
 * measured to, not evenly: those that got less go on alone when the fastest has ended. */
static double uneven(const struct resource_problem *problem, const struct resource_run *run,
                     const unsigned char *users)
{
    double first_s = INFINITY, last_s = 0, even_s = 0;
    for (size_t i = 0; i < run->count; i++)
        if (users[run->flow[i]])
            first_s = fmin(first_s, 1 / run->rate[i]);
    for (size_t i = 0; i < run->count; i++) {
        if (!users[run->flow[i]])
            continue;
        last_s =
            fmax(last_s, first_s + (1 - run->rate[i] * first_s) / problem->alone[run->flow[i]]);
        even_s = fmax(even_s, 1 / run->predicted[i]);
    }
    return fabs(even_s / last_s - 1);
}

/* Its interval holds that as well. */
void resource_uneven_widen(const struct resource_problem *problem, struct resource_limit *limit)
{
    for (size_t r = 0; r < problem->run_count; r++) {
        const struct resource_run *run = &problem->run[r];
        unsigned users = users_in(limit, run);
        struct resource_step *step = NULL;
        for (size_t i = 0; i < limit->step_count && limit->step[i].flows <= users; i++)
            step = &limit->step[i];
        if (step != NULL && users > 1 && !run->is_reproduced && !isnan(step->spread))
            step->spread = fmax(step->spread, uneven(problem, run, limit->users));
    }
}
