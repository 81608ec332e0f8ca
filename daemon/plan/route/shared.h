/**
 * The number behind what an option of Route shares: of the transfers that were measured at once,
 * which show it, those that are most like the option's hops; or what is known of it otherwise.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/route/answer.h"

struct route_shared {
    const struct set *set; /* of the snapshot; NULL: none shows it */
    size_t users;          /* of its transfers that use it */
    /* what these got together; without a set what it counts with, 0 not known */
    double bytes_per_s;
};

/* Of option->shared, which is not NULL; both: as many bytes go the other way meanwhile. */
struct route_shared plan_route_shared(const struct snapshot *snap,
                                      const struct route_option *option, bool both);
