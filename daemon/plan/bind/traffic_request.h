/**
 * Traffic: what the tasks of a job on this node move in one step, as flows, from a pattern over all
 * ranks of the job, from exact flows, or both together. docs/ADVICE.md defines the patterns.
 *
 * Pure; any thread.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/request_limits.h"

#define TRAFFIC_BYTES_MAX (INT64_C(1) << 60) /* of one flow in one step */

/* In the order of the contract's words. */
enum traffic_pattern {
    TRAFFIC_NONE,
    TRAFFIC_PAIRS,
    TRAFFIC_RING,
    TRAFFIC_GRID2D,
    TRAFFIC_GRID3D,
    TRAFFIC_ALLTOALL,
    TRAFFIC_ALLREDUCE
};

/* The ends of flows that are no task of this node. */
enum {
    TRAFFIC_HOST = -1, /* the memory of the task at the other end */
    TRAFFIC_AWAY = -2  /* ranks on other nodes, through a nic */
};

struct traffic_exact {
    int64_t from, to; /* ranks */
    int64_t bytes;
};

struct traffic_request {
    int64_t tasks;
    const int64_t *ranks; /* of the tasks, all different, none negative; NULL: 0, 1, 2 ... */
    int64_t world;        /* ranks of the job; 0: as many as tasks */
    enum traffic_pattern pattern;
    int64_t bytes;      /* of each flow of the pattern; -1 not given */
    int64_t host_bytes; /* of each task, to host memory and as many from there */
    const struct traffic_exact *exact;
    size_t exact_count;
};

struct traffic_flow {
    int32_t from, to; /* tasks, or TRAFFIC_HOST, TRAFFIC_AWAY */
    double bytes;     /* more than 0 */
};

struct traffic {
    struct traffic_flow *flow; /* owned; ascending by from and to, each pair once */
    size_t count;
    double reduced; /* bytes of an all-reduce of all tasks, where nothing else moves; else 0 */
};

/* Makes the flows of a request; transfers between other nodes are none. Exact flows of a rank to
 * itself are refused. Fails with INVALID_PARAMETER naming world, ranks, pattern, bytes, host_bytes
 * or flows and saying what is available; NO_MEMORY. */
enum berth_code plan_traffic(const struct traffic_request *request, struct traffic *ret,
                             struct berth_err *err);
void plan_traffic_done(struct traffic *traffic);

/* MPI_Dims_create: count (at most 3) factors of ranks, as close to each other as possible, the
 * longest side first. */
void plan_traffic_dims(int64_t ranks, size_t count, int64_t *ret_dims);
