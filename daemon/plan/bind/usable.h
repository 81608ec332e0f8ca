/**
 * The cores that Bind may give out, in groups: what shares an llc, else a NUMA node.
 *
 * Pure; any thread.
 */
#pragma once
#include "base/cpuset.h"
#include "base/err.h"
#include "node/graph.h"
#include "node/snapshot.h"

/* Cores that share an llc; where none is known or it lies around several NUMA nodes, a NUMA node;
 * else a package or the machine. */
struct bind_group {
    place_id place;
    place_id numa, package; /* PLACE_NONE unknown */
    unsigned cores, free;
    unsigned tasks; /* that have cores here */
};

struct bind_core {
    place_id id;
    unsigned group;
    struct cpuset use; /* its allowed pus, at most threads_per_core */
    bool taken;
};

/* The cores that may be used. */
struct bind_cores {
    struct bind_core *core; /* owned, ascending by number */
    size_t count;
    struct bind_group *group; /* owned */
    size_t group_count;
};

/* A core counts when at least threads_per_core (0: one) of its pus are in cpus. UNAVAILABLE when
 * the node's cores are not known; NOTHING_ALLOWED when no core has one; NOT_ENOUGH threads when
 * only the number of threads is missing; NO_MEMORY. */
enum berth_code plan_bind_cores_init(const struct graph *graph, const struct cpuset *cpus,
                                     int64_t threads_per_core, struct bind_cores *ret,
                                     struct berth_err *err);
void plan_bind_cores_done(struct bind_cores *cores);

/* Takes back all cores that were given out. */
void plan_bind_cores_reset(struct bind_cores *cores);

/* How many usable cores lie next to a place: those that share cpus with it, else those of its NUMA
 * node; 0 when neither is known. */
unsigned plan_bind_cores_near(const struct snapshot *snap, const struct bind_cores *cores,
                              place_id place);

/* What plan_bind_cores is asked for. */
struct bind_cores_request {
    size_t tasks;
    const place_id *gpus; /* gpus_per_task for each task */
    size_t gpus_per_task;
    int64_t cores_per_task; /* 0 default */
    const place_id *numa;   /* by task: of cores equally near to its gpus, these first; NULL any */
    /* without gpus, by task: the lowest of those that stay together; NULL each alone */
    const size_t *joined;
};
