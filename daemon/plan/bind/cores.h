/**
 * The cores that Bind may use, in groups that share a cache or memory, and how near a group is to a
 * task's GPUs.
 *
 * Pure; any thread.
 */
#pragma once
#include "base/cpuset.h"
#include "base/err.h"
#include "cost/evidence.h"
#include "node/graph.h"
#include "node/snapshot.h"
#include "search/search.h"

enum core_level { LEVEL_L3, LEVEL_NUMA, LEVEL_PACKAGE, LEVEL_MACHINE, LEVELS };

/* Cores that share an L3. Where no L3 is known, or it lies around several NUMA nodes, cores of a
 * NUMA node; else of a package or of the machine. */
struct bind_group {
    place_id place;
    place_id numa; /* PLACE_NONE unknown */
    place_id
        unit[LEVELS]; /* the groups of an L3, NUMA node, package, or the machine have the same */
    unsigned cores;   /* that may be used */
    unsigned all;     /* that there are */
};

struct bind_core {
    place_id id;
    unsigned group;
    struct cpuset use; /* its allowed PUs, at most threads_per_core */
};

struct bind_cores {
    struct bind_core *core; /* owned; those that may be used, ascending by number */
    size_t count;
    struct bind_group *group; /* owned */
    size_t group_count;
};

/* Finds the cores with at least threads_per_core (0: one) PUs in cpus. UNAVAILABLE when the node's
 * cores are not known; NOTHING_ALLOWED when no core has one; NOT_ENOUGH threads when only the
 * number of threads is missing; NO_MEMORY. plan_bind_cores_done in any case. */
enum berth_code plan_bind_cores_init(const struct graph *graph, const struct cpuset *cpus,
                                     int64_t threads_per_core, struct bind_cores *ret,
                                     struct berth_err *err);
void plan_bind_cores_done(struct bind_cores *cores);

/* Counts the usable cores of the unit around a group. */
unsigned plan_bind_cores_in(const struct bind_cores *cores, size_t group, enum core_level level);

/* Returns how many usable cores share cpus with a place; 1 where they only lie in its NUMA node. */
unsigned plan_bind_cores_near(const struct snapshot *snap, const struct bind_cores *cores,
                              place_id place);

/* Computes by group how far it is from a task's GPUs, the nearest of them; less is nearer, all 0
 * without GPUs. How many times slower copies with its memory are counts first, where that was
 * measured of all groups (and cited), then locality_distance. */
void plan_bind_cores_far(const struct snapshot *snap, const struct bind_cores *cores,
                         const place_id *gpus, size_t count, struct evidence *evidence,
                         double *ret);

/* Finds for each GPU the NUMA node of the cores nearest to it (NONE unknown). GPUs with the same
 * several nearest, as those of a whole package, are distributed over them in order. NO_MEMORY. */
enum berth_code plan_bind_cores_numas(const struct snapshot *snap, const struct bind_cores *cores,
                                      const place_id *gpus, size_t count, place_id *ret,
                                      struct berth_err *err);

/* Where tasks on GPUs have their cores: a NUMA node, or its package where one task has more cores
 * than the node. A unit is the index of its first group of cores. */
struct bind_room {
    uint16_t unit[SEARCH_SLOTS_MAX]; /* by gpu, as of struct search_problem */
    uint16_t most[CPUSET_MAX];       /* by unit: tasks with room there */
};

/* For tasks of so many cores, at least 1. numa: by gpu, whose cores a task on it has. */
void plan_bind_cores_room(const struct bind_cores *cores, const place_id *numa, size_t gpus,
                          int64_t cores_per_task, struct bind_room *ret);
