#include "cost/resource_spare.h"

#include <math.h>
#include <string.h>

#include "cost/resource_share.h"

#define FLOWS_MAX 128 /* of one run: SETS_FLOWS_MAX */
/* Of what was measured: an expectation that is farther from it by no more is as good, and
 * capacities that differ by no more are one. */
#define SAME 0.02

/* Whether a flow of a run with so many users, least to most, is farther from what was measured by
 * the limits as they are than by the runs' predictions. */
static bool is_missed(const struct resource_problem *problem, const struct resource_limit *limit,
                      unsigned least, unsigned most)
{
    bool missed = false;
    for (size_t r = 0; r < problem->run_count && !missed; r++) {
        const struct resource_run *run = &problem->run[r];
        double rate[FLOWS_MAX];
        unsigned users = resource_users(limit, run->flow, run->count);
        if (users < least || users > most)
            continue;
        resource_share(problem->alone, problem->limit, problem->limit_count, run->flow, run->count,
                       rate);
        for (size_t i = 0; i < run->count; i++)
            missed = missed || fabs(rate[i] - run->rate[i]) >
                                   fabs(run->predicted[i] - run->rate[i]) + SAME * run->rate[i];
    }
    return missed;
}

void resource_spare(struct resource_problem *problem)
{
    for (size_t i = 0; i < problem->limit_count; i++) {
        struct resource_limit *limit = &problem->limit[i];
        for (size_t s = limit->step_count; s-- > 0 && limit->step_count > 1;) {
            if (s > 0 &&
                fabs(limit->step[s].bytes_per_s / limit->step[s - 1].bytes_per_s - 1) <= SAME)
                continue;
            struct resource_limit whole = *limit;
            unsigned least = limit->step[s].flows,
                     most = s + 1 < limit->step_count ? limit->step[s + 1].flows - 1 : FLOWS_MAX;
            memmove(&limit->step[s], &limit->step[s + 1],
                    (limit->step_count - s - 1) * sizeof *limit->step);
            limit->step_count--;
            if (is_missed(problem, limit, least, most))
                *limit = whole;
        }
    }
}
