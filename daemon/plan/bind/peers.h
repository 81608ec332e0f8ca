/**
 * Transfers between tasks without GPUs: their time, and which task gets which of the chosen cores.
 *
 * A flow takes half a round trip (cpu_pingpong) plus its bytes at the slower of cpu_copy and
 * cpu_queue, between the first cores of both tasks. A pair that was not measured has the numbers of
 * another pair of the same two L3s. A core serves the flows of its task one after the other; nobody
 * measured several at once.
 *
 * Pure; any thread.
 */
#pragma once
#include "node/reasons.h"
#include "plan/bind/bind.h"
#include "plan/bind/cores.h"

struct bind_peers {
    const struct snapshot *snap;
    const struct traffic *traffic; /* NULL or empty: no flows */
    const struct bind_cores *cores;
    size_t tasks;
};

/* What the flows between tasks take. */
struct peers_time {
    /* of the busiest task; 0 without flows; NAN where the round trip of a flow is unknown */
    double time_ns;
    double distance;  /* bytes times locality_distance: an order of choices, no time */
    bool is_measured; /* one flow, by the numbers of its own pair */
    bool at_least;    /* no rate of some flow is known: latency alone counts */
    size_t flow;      /* the longest flow of the busiest task */
    const struct value *latency, *rate; /* of that flow; NULL unknown */
};

/* How many flows go from task to task. */
size_t plan_bind_peers_count(const struct traffic *traffic);

/* The time of all flows with these cpus, one set for each task. NO_MEMORY. */
enum berth_code plan_bind_peers_time(const struct bind_peers *peers, const struct cpuset *cpus,
                                     struct peers_time *ret, struct berth_err *err);

/* Exchanges the cpus among the tasks so that the flows take least time; by distance where no time
 * is known. Of more than SEARCH_SLOTS_MAX tasks they stay as they are. NO_MEMORY. */
enum berth_code plan_bind_peers_assign(const struct bind_peers *peers, struct cpuset *cpus,
                                       struct berth_err *err);

/* By task: the lowest task that it exchanges bytes with, directly or through others; itself without
 * flows. ret has room for all tasks. */
void plan_bind_peers_join(const struct traffic *traffic, size_t tasks, size_t *ret);

/* How many cores let the tasks of the largest family share an L3, where berth's own number, each,
 * does not; 0 elsewhere. ret_is_half: half of each would, too. NO_MEMORY. */
enum berth_code plan_bind_peers_fewer(const struct bind_peers *peers, int64_t each, int64_t *ret,
                                      bool *ret_is_half, struct berth_err *err);
