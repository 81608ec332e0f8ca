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

/* A limit of some of the flows of one run, with its capacity for these. */
struct sharing {
    const unsigned char *users;
    double capacity;
};

/* What is left of a limit for each of its users that may still grow; INFINITY: it does not bind. */
static double fair_share(const struct sharing *sharing, const size_t *flow, size_t count,
                         const bool *is_fixed, const double *rate)
{
    double left = sharing->capacity;
    unsigned growing = 0;
    for (size_t i = 0; i < count; i++) {
        if (!sharing->users[flow[i]])
            continue;
        left -= is_fixed[i] ? rate[i] : 0;
        growing += !is_fixed[i];
    }
    return growing > 0 ? fmax(left, 0) / growing : INFINITY;
}

/* The limits that may bind, for their users get more alone together; how many. */
static size_t list_sharings(const double *alone, const struct resource_limit *limit,
                            size_t limit_count, const size_t *flow, size_t count,
                            struct sharing *ret)
{
    size_t found = 0;
    for (size_t i = 0; i < limit_count; i++) {
        const unsigned char *users = limit[i].users;
        unsigned user_count = 0;
        double together = 0;
        for (size_t k = 0; k < count; k++) {
            if (!users[flow[k]])
                continue;
            user_count++;
            together += alone[flow[k]];
        }
        double capacity = user_count > 0 ? resource_capacity(&limit[i], user_count) : INFINITY;
        if (together > capacity)
            ret[found++] = (struct sharing){users, capacity};
    }
    return found;
}

/* Water rises in all flows alike; each is fixed where it, or a limit of its, is full. */
void resource_share(const double *alone, const struct resource_limit *limit, size_t limit_count,
                    const size_t *flow, size_t count, double *ret_rate)
{
    struct sharing sharing[RESOURCE_LIMITS_MAX + 1];
    size_t sharing_count = list_sharings(alone, limit, limit_count, flow, count, sharing);
    bool is_fixed[FLOWS_MAX] = {false};
    size_t left = count;
    while (left > 0) {
        const struct sharing *tightest = NULL;
        double level = INFINITY;
        for (size_t i = 0; i < sharing_count; i++) {
            double share = fair_share(&sharing[i], flow, count, is_fixed, ret_rate);
            if (share < level) {
                level = share;
                tightest = &sharing[i];
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
