/**
 * Transfers between tasks without GPUs: their time, and which task gets which of the chosen cores.
 *
 * A flow takes half a round trip (cpu_pingpong) plus its bytes at the slower of cpu_copy and
 * cpu_queue, between the first cores of both tasks. A pair that was not measured has the numbers of
 * another pair of the same two L3s. A core serves the flows of its task one after the other, as
 * several at once were not measured.
 *
 * Pure; any thread.
 */
#pragma once
#include "cost/estimate.h"
#include "plan/bind/bind.h"
#include "plan/bind/cores.h"

struct cpu_exchange {
    const struct snapshot *snap;
    const struct traffic *traffic; /* NULL or empty: no flows */
    const struct bind_cores *cores;
    size_t tasks, flows;         /* flows: between tasks */
    const struct value **number; /* owned; by number, L3 and L3: a measured pair of cores */
};

/* NO_MEMORY. */
enum berth_code cpu_exchange_init(const struct snapshot *snap, const struct traffic *traffic,
                                  const struct bind_cores *cores, size_t tasks,
                                  struct cpu_exchange *ret, struct berth_err *err);
void cpu_exchange_done(struct cpu_exchange *exchange);

struct exchange_time {
    struct estimate time; /* of the busiest task; a lower bound where a rate is unknown */
    double distance;      /* bytes times locality_distance: an order of choices, no time */
    const struct traffic_flow *longest; /* of the busiest task; NULL without flows */
    const struct value *latency, *rate; /* of that flow; NULL unknown */
};

/* Prices all flows, with the cpus of each task. NO_MEMORY. */
enum berth_code cpu_exchange_time(const struct cpu_exchange *exchange, const struct cpuset *cpus,
                                  struct exchange_time *ret, struct berth_err *err);

/* Exchanges the cpus among the tasks so that the flows take least time; by distance where no time
 * is known. Those of more than SEARCH_SLOTS_MAX tasks stay. NO_MEMORY. */
enum berth_code cpu_exchange_assign(const struct cpu_exchange *exchange, struct cpuset *cpus,
                                    struct berth_err *err);

/* By task: the lowest task that it exchanges bytes with, directly or through others; itself without
 * flows. */
void cpu_exchange_families(const struct cpu_exchange *exchange, size_t *ret);
