/**
 * Folder daemon/plan/bind: GPUs, cores, memory and NICs of the tasks of a job.
 *
 * Main types: struct bind_request, struct bind_answer.
 * Uses: base node cost search
 * Public headers: bind.h launcher_options.h nics.h traffic_request.h visible.h
 * Shown by: tests/unit/plan/bind, `berth bind`
 *
 * Bind: the GPUs, cores, memory and NICs with which an iteration takes least time; by locality
 * where nothing says what tasks move. First GPUs by their traffic (traffic.h), then cores and
 * memory by one allocator over groups of cores (core_allocator.h), then NICs. Tasks without GPUs
 * are the same allocator, priced by their streams and then their exchange (cpu_tasks.h).
 * docs/ADVICE.md has the rules.
 *
 * Pure; any thread.
 */
#pragma once
#include "base/cpuset.h"
#include "base/err.h"
#include "cost/estimate.h"
#include "cost/evidence.h"
#include "cost/runtime_variables.h"
#include "cost/usage.h"
#include "node/allowed.h"
#include "node/graph.h"
#include "node/reasons.h"
#include "node/snapshot.h"
#include "plan/bind/traffic_request.h"

struct bind_request {
    int64_t tasks;
    int64_t gpus_per_task; /* -1: 1 where any gpu is allowed, else 0 */
    /* 0: as many as each task finds next to its GPUs, or an even share of all; fewer with which
     * tasks without GPUs that exchange bytes share an L3, where an iteration takes less */
    int64_t cores_per_task;
    int64_t threads_per_core; /* 0: all that are allowed */
    /* tasks that may share a GPU where there are fewer GPUs than tasks; 0: 1. More only with one
     * GPU a task */
    int64_t tasks_per_gpu;
    bool in_rank_order;            /* gpus ascend from task to task */
    const struct traffic *traffic; /* of one iteration; NULL or empty: unknown */
    enum copy_by by;               /* how peers copy */
    const struct allowed *allowed;
};

struct bind_task {
    /* in the answer's pool; gpus_per_task of them, ascending */
    const place_id *gpus;
    struct cpuset cpus;
    place_id memory;                    /* PLACE_NONE: no memory of the node is allowed */
    size_t nics, nic_count;             /* a range of the answer's nic pool */
    struct runtime_variables variables; /* its runtime's, for copies as they are priced */
};

struct bind_answer {
    struct bind_task *task; /* owned */
    size_t task_count;
    int64_t gpus_per_task, cores_per_task;
    place_id *gpu; /* owned pool: gpus_per_task for each task */
    place_id *nic; /* owned pool */
    size_t nic_count;
    /* of an iteration, and of one with GPUs in order; NAN: nothing known predicts it */
    struct estimate predicted, baseline;
    /* the limit that slows the last transfer; "" none */
    char bottleneck[LIMIT_NAME_SIZE], baseline_bottleneck[LIMIT_NAME_SIZE];
    bool is_proven; /* nothing is predicted to take less, or there was nothing to choose */
    /* the time above a lower bound of all choices, as a fraction of that; NAN unknown */
    double gap;
    struct evidence evidence;
    struct reasons reasons; /* that decided */
    struct reasons warnings;
};

/* Fails with INVALID_PARAMETER naming it, NOT_ENOUGH (gpus, cores, threads of a core),
 * NOTHING_ALLOWED, UNAVAILABLE when the node's cores are not known, NO_MEMORY. */
enum berth_code plan_bind(const struct snapshot *snap, const struct bind_request *request,
                          struct bind_answer *ret, struct berth_err *err);
void plan_bind_done(struct bind_answer *answer);
