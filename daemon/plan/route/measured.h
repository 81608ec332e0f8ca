/**
 * What was measured of an option of Route: the sources of its hops, and the concurrent runs that
 * have several of them. Pure; any thread.
 */
#pragma once
#include "plan/route/work.h"

#define MEASURED_GROUP_MAX (ROUTE_PARTS_MAX * ROUTE_HOPS_MAX + ROUTE_CONCURRENT_MAX)

/* Hops of one kind of an option, then concurrent transfers over the same links to the host. */
struct measured_group {
    enum metric metric; /* of such runs */
    struct transfer *hop[MEASURED_GROUP_MAX];
    double rate[MEASURED_GROUP_MAX]; /* of the part of each alone, bytes per second */
    size_t count, own;               /* own: of the option, which come first */
    double busy;                     /* their share of the time, if they took turns */
};

/* Sets the sources of a new option. Where a run has all hops of a kind they get no more than there;
 * a run of more transfers gives a lower bound. */
void measured_find(const struct route_work *work, struct route_option *option);

/* Writes the groups that no run has, at most most. Returns their number. */
size_t measured_missing(const struct route_work *work, struct route_option *option,
                        struct measured_group *ret, size_t most);

/* Returns how many transfers of a run use a limit that such runs show. */
size_t measured_users(const struct route_work *work, const struct limit *limit,
                      const struct set *run);
