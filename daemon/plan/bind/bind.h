/**
 * Folder daemon/plan/bind: GPUs, cores, memory and NICs of the tasks of a job.
 *
 * Main types: struct bind_request, struct bind_answer.
 * Uses: base node cost search
 * Public headers: bind.h launcher_options.h nics.h traffic_request.h visible.h
 * Shown by: tests/unit/plan/bind, `berth bind`
 *
 * Bind: gpus, cores, memory and nics for the tasks of a job, so that one step of what they move
 * takes least time; by locality where nothing says what they move. docs/ADVICE.md has the rules.
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
    /* 0: an even share of the cores next to its gpus, or of all; fewer where tasks without gpus
     * that exchange bytes so share an L3 and the step takes less */
    int64_t cores_per_task;
    int64_t threads_per_core; /* 0: all that are allowed */
    /* how many may share one where there are fewer gpus than tasks; 0: 1. More only with one gpu
     * a task */
    int64_t tasks_per_gpu;
    bool in_rank_order;            /* gpus ascend from task to task */
    const struct traffic *traffic; /* of one step; NULL or empty: nothing says */
    enum copy_by by;               /* how peers copy */
    const struct allowed *allowed;
};

struct bind_task {
    /* in the answer's pool; as many as the answer's gpus_per_task, ascending */
    const place_id *gpus;
    struct cpuset cpus;
    place_id memory;                    /* PLACE_NONE: no memory of the node is allowed */
    size_t nics, nic_count;             /* a range of the answer's nic pool */
    struct runtime_variables variables; /* with which its runtime copies as is priced */
};

struct bind_answer {
    struct bind_task *task; /* owned */
    size_t task_count;
    int64_t gpus_per_task, cores_per_task;
    place_id *gpu; /* owned pool: gpus_per_task for each task */
    place_id *nic; /* owned pool */
    size_t nic_count;
    /* of a step: so, and with the gpus in order; NAN: nothing known predicts it */
    struct estimate predicted, baseline;
    /* "" nothing is shared */
    char bottleneck[LIMIT_NAME_SIZE], baseline_bottleneck[LIMIT_NAME_SIZE];
    bool is_proven; /* nothing is predicted to take less, or there was nothing to choose */
    /* how much more than a time that no choice is below, as a fraction of that; NAN unknown */
    double gap;
    struct evidence evidence;
    struct reasons reasons; /* sentences: what decided */
    struct reasons warnings;
};

/* Fails with INVALID_PARAMETER naming it, NOT_ENOUGH (gpus, cores, threads of a core),
 * NOTHING_ALLOWED, UNAVAILABLE when the node's cores are not known, NO_MEMORY. */
enum berth_code plan_bind(const struct snapshot *snap, const struct bind_request *request,
                          struct bind_answer *ret, struct berth_err *err);
void plan_bind_done(struct bind_answer *answer);
