#include "cost/resource_share.h"

#include <math.h>

#define FLOWS_MAX 128 /* of one run: SETS_FLOWS_MAX */

double resource_capacity(const struct resource_limit *limit, unsigned flows)
{
    double capacity = INFINITY;
    for (size_t i = 0; i < limit->step_count && limit->step[i].flows <= flows; i++)
        capacity = limit->step[i].bytes_per_s;
    return capacity;
}

unsigned resource_users(const struct resource_limit *limit, const size_t *flow, size_t count)
{
    unsigned users = 0;
    for (size_t i = 0; i < count; i++)
        users += limit->users[flow[i]];
    return users;
}

/* What is left of a limit for each of its users that may still grow; INFINITY: it does not bind. */
static double fair_share(const struct resource_limit *limit, const size_t *flow, size_t count,
                         const bool *is_fixed, const double *rate)
{
    double left = resource_capacity(limit, resource_users(limit, flow, count));
    unsigned growing = 0;
    for (size_t i = 0; i < count; i++) {
        if (!limit->users[flow[i]])
            continue;
        left -= is_fixed[i] ? rate[i] : 0;
        growing += !is_fixed[i];
    }
    return growing > 0 ? fmax(left, 0) / growing : INFINITY;
}

/* Water rises in all flows alike; each is fixed where it, or a limit of its, is full. */
void resource_share(const double *alone, const struct resource_limit *limit, size_t limit_count,
                    const size_t *flow, size_t count, double *ret_rate)
{
    bool is_fixed[FLOWS_MAX] = {false};
    size_t left = count;
    while (left > 0) {
        const struct resource_limit *tightest = NULL;
        double level = INFINITY;
        for (size_t i = 0; i < limit_count; i++) {
            double share = fair_share(&limit[i], flow, count, is_fixed, ret_rate);
            if (share < level) {
                level = share;
                tightest = &limit[i];
            }
        }
        size_t fixed = 0;
        for (size_t i = 0; i < count; i++) {
            if (is_fixed[i] || alone[flow[i]] > level)
                continue;
            ret_rate[i] = alone[flow[i]];
            is_fixed[i] = true;
            fixed++;
        }
        bool is_full = fixed == 0 && tightest != NULL;
        for (size_t i = 0; i < count && is_full; i++) {
            if (is_fixed[i] || !tightest->users[flow[i]])
                continue;
            ret_rate[i] = level;
            is_fixed[i] = true;
            fixed++;
        }
        left -= fixed;
    }
}
