/**
 * The cores that Bind may use, grouped by the cache or memory they share, and which groups are
 * nearest to a task's GPUs.
 *
 * Pure; any thread.
 */
#pragma once
#include "base/cpuset.h"
#include "base/err.h"
#include "cost/evidence.h"
#include "node/graph.h"
#include "node/snapshot.h"

/* Cores that share an L3. Where no L3 is known, or it lies around several NUMA nodes, cores of a
 * NUMA node; else of a package or of the machine. */
struct bind_group {
    place_id place;
    place_id numa, package; /* PLACE_NONE unknown */
    unsigned cores;
};

struct bind_core {
    place_id id;
    unsigned group;
    struct cpuset use; /* its allowed PUs, at most threads_per_core */
};

struct bind_cores {
    struct bind_core *core; /* owned, ascending by number */
    size_t count;
    struct bind_group *group; /* owned */
    size_t group_count;
};

/* Finds the cores with at least threads_per_core (0: one) PUs in cpus. UNAVAILABLE when the node's
 * cores are not known; NOTHING_ALLOWED when no core has one; NOT_ENOUGH threads when only the
 * number of threads is missing; NO_MEMORY. */
enum berth_code plan_bind_cores_init(const struct graph *graph, const struct cpuset *cpus,
                                     int64_t threads_per_core, struct bind_cores *ret,
                                     struct berth_err *err);
void plan_bind_cores_done(struct bind_cores *cores);

/* Returns how many usable cores share cpus with a place; 1 where they only lie in its NUMA node. */
unsigned plan_bind_cores_near(const struct snapshot *snap, const struct bind_cores *cores,
                              place_id place);

/* How near a group is to a task's GPUs: that of the nearest of them. Less is nearer. */
struct nearness {
    /* how many times slower copies are than from the best NUMA node; 1: similar or not measured */
    double slowness;
    double distance; /* locality_distance */
};

/* Compares like strcmp. */
int plan_bind_cores_compare(const struct nearness *a, const struct nearness *b);

/* Computes the nearness of each group, all zero without GPUs. Measured rates go before structure
 * where every group has one; they are cited in evidence (NULL: not). NO_MEMORY. */
enum berth_code plan_bind_cores_nearness(const struct snapshot *snap,
                                         const struct bind_cores *cores, const place_id *gpus,
                                         size_t count, struct evidence *evidence,
                                         struct nearness *ret, struct berth_err *err);

/* Flags the groups that are nearest to these GPUs, at least one. NO_MEMORY. */
enum berth_code plan_bind_cores_nearest(const struct snapshot *snap, const struct bind_cores *cores,
                                        const place_id *gpus, size_t count, bool *ret,
                                        struct berth_err *err);

/* Lists the NUMA nodes of the cores nearest to a GPU, each once; ret has room for group_count. Each
 * may be unknown, so there may be none. NO_MEMORY. */
enum berth_code plan_bind_cores_numas(const struct snapshot *snap, const struct bind_cores *cores,
                                      place_id gpu, place_id *ret, size_t *ret_count,
                                      struct berth_err *err);
