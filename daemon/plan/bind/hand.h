/**
 * Handing out cores: what is known of tasks and groups while plan_bind_cores goes on, and taking
 * from a group.
 *
 * Pure; any thread.
 */
#pragma once
#include "cost/evidence.h"
#include "node/reasons.h"
#include "plan/bind/usable.h"

/* How near a group is to a task's gpus: less is nearer. */
struct nearness {
    /* measured: how many times slower than the best NUMA node, 1 where not measured or nearly the
     * same */
    double slowness;
    double distance; /* locality_distance */
};

/* What is done for one request. */
struct hand {
    const struct snapshot *snap;
    struct bind_cores *cores;
    const struct bind_cores_request *request;
    struct nearness *near;    /* by task and group; NULL without gpus */
    struct nearness *nearest; /* by task: the least of its near */
    unsigned *missing;        /* cores that a task still needs */
    /* by task: a group of the package that has room for all of it, SIZE_MAX none */
    size_t *home;
    unsigned *reserved; /* by group: in its package, for tasks whose home that is */
    struct cpuset *cpus;
    struct evidence *evidence;
    struct reasons *warnings;
};

/* What a task's cores should not be torn over while one has room for it. */
enum unit {
    UNIT_NUMA,
    UNIT_PACKAGE,
};

/* Less than 0: a is nearer. */
int plan_bind_hand_compare(const struct nearness *a, const struct nearness *b);

struct nearness *plan_bind_hand_near(const struct hand *hand, size_t task, size_t group);
bool plan_bind_hand_is_nearest(const struct hand *hand, size_t task, size_t group);

/* Whether the request names that group's NUMA node as the task's. */
bool plan_bind_hand_is_wanted(const struct hand *hand, size_t task, size_t group);

/* Gives a task its missing cores from a group, as many as are free. */
void plan_bind_hand_take(struct hand *hand, size_t task, size_t group);

bool plan_bind_hand_in_one(const struct hand *hand, size_t a, size_t b, enum unit unit);

/* How many cores are free in the whole unit of a group. */
unsigned plan_bind_hand_free(const struct hand *hand, size_t group, enum unit unit);

/* Whether a group that is nearest to the task is in the unit. */
bool plan_bind_hand_is_beside(const struct hand *hand, size_t task, size_t group, enum unit unit);

/* Whether a task takes from group a rather than b: the nearer one, then that of the NUMA node that
 * is wanted, then that where the rest of it fits best, in the NUMA node, then in the group. */
bool plan_bind_hand_goes_before(const struct hand *hand, size_t task, size_t a, size_t b);

/* To tasks without gpus: where the fewest others are for the cores there, and within one llc, NUMA
 * node or package while one has room. */
void plan_bind_hand_evenly(struct hand *hand);
