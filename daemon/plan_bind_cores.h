/**
 * The cores of Bind: whole cores for each task, from the llc nearest to its gpus, never one core to two tasks.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan.h"

/* Cores that share an llc; where none is known or it lies around several NUMA nodes, a NUMA node; else a package or the machine. */
struct bind_group {
    place_id place;
    place_id numa; /* PLACE_NONE unknown */
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

/* A core counts when at least threads_per_core (0: one) of its pus are in cpus. UNAVAILABLE when the node's cores are not known;
 * NOTHING_ALLOWED when no core has one; NOT_ENOUGH threads when only the number of threads is missing; NO_MEMORY. */
enum berth_code plan_bind_cores_init(const struct graph *graph, const struct cpuset *cpus, int64_t threads_per_core, struct bind_cores *ret,
                                     struct berth_err *err);
void plan_bind_cores_done(struct bind_cores *cores);

/* How many usable cores lie next to a place: those that share cpus with it, else those of its NUMA node; 0 when neither is known. */
unsigned plan_bind_cores_near(const struct snapshot *snap, const struct bind_cores *cores, place_id place);

/* Which groups are nearest to a task with these gpus, at least one: a flag by group. NO_MEMORY. */
enum berth_code plan_bind_cores_nearest(const struct snapshot *snap, struct bind_cores *cores, const place_id *gpus, size_t count, bool *ret, struct berth_err *err);

/* The NUMA nodes of the cores that are nearest to this gpu, each once, as group_count of cores is room for; fewer than one where they are not known. NO_MEMORY. */
enum berth_code plan_bind_cores_numas(const struct snapshot *snap, struct bind_cores *cores, place_id gpu, place_id *ret, size_t *ret_count, struct berth_err *err);

struct bind_cores_request {
    size_t tasks;
    const place_id *gpus; /* gpus_per_task for each task */
    size_t gpus_per_task;
    int64_t cores_per_task; /* 0 default */
    const place_id *numa;   /* by task: of cores equally near to its gpus, these first; NULL any */
};

/* Takes cores for each task: cpus in ret_cpus (one for each task), cores a task in ret_cores. Without gpus, tasks come in the order of their
 * cores. Of cores away from gpus nothing is said here: plan_bind_away. NOT_ENOUGH cores, NO_MEMORY. */
enum berth_code plan_bind_cores(const struct snapshot *snap, struct bind_cores *cores, const struct bind_cores_request *request,
                                struct plan_evidence *evidence, struct plan_warnings *warnings, struct cpuset *ret_cpus, int64_t *ret_cores,
                                struct berth_err *err);
