#include "cost/resource_slower.h"

#include <math.h>

/* what several get together may be less than what one gets, but not by so much where nobody saw it
 */
#define FAR_MORE 1.25

static bool is_slower(const struct resource_problem *problem, const struct resource_run *run,
                      size_t i)
{
    return problem->alone[run->flow[i]] > run->rate[i] * (1 + RESOURCE_TOLERANCE);
}

static size_t users_in(const struct resource_run *run, const unsigned char *users)
{
    size_t count = 0;
    for (size_t i = 0; i < run->count; i++)
        count += users[run->flow[i]];
    return count;
}

void resource_slower_mark(const struct resource_problem *problem, const unsigned char *users,
                          unsigned char *ret_slower)
{
    for (size_t r = 0; r < problem->run_count; r++) {
        const struct resource_run *run = &problem->run[r];
        for (size_t i = 0; users_in(run, users) > 1 && i < run->count; i++)
            ret_slower[run->flow[i]] |= users[run->flow[i]] && is_slower(problem, run, i);
    }
}

static bool was_slower(const struct resource_problem *problem, const unsigned char *users,
                       size_t flow)
{
    bool found = false;
    for (size_t r = 0; r < problem->run_count && !found; r++) {
        const struct resource_run *run = &problem->run[r];
        for (size_t i = 0; i < run->count; i++)
            found = found || (run->flow[i] == flow && is_slower(problem, run, i) &&
                              users_in(run, users) > 1);
    }
    return found;
}

bool resource_slower_contradicts(const struct resource_problem *problem,
                                 const struct resource_limit *limit)
{
    double least = INFINITY;
    bool contradicts = false;
    for (size_t i = 0; i < limit->step_count; i++)
        least = fmin(least, limit->step[i].bytes_per_s);
    for (size_t i = 0; i < problem->flow_count && !contradicts; i++)
        contradicts = limit->users[i] && problem->alone[i] > least * FAR_MORE &&
                      !was_slower(problem, limit->users, i);
    return contradicts;
}
