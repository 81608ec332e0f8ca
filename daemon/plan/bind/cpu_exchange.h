/**
 * Transfers between tasks without GPUs: their time, and which task gets which of the chosen cores.
 *
 * A flow takes half a round trip (cpu_pingpong) plus its bytes at the slower of cpu_copy and
 * cpu_queue; where messages of MPI were measured on all these paths, mpi_latency plus its bytes at
 * mpi_bandwidth. All pairs of cores of the same two L3s are similar: the slowest pair that was
 * measured counts for them. A core serves the flows of its task one after the other, as several at
 * once were not measured.
 *
 * Pure; any thread.
 */
#pragma once
#include "cost/estimate.h"
#include "plan/bind/bind.h"
#include "plan/bind/cores.h"

/* From cores of one group to those of another. */
struct exchange_path {
    const struct value *latency, *rate; /* the slowest; NULL unknown */
    double distance;                    /* cores of one L3 have none */
};

struct cpu_exchange {
    const struct traffic *traffic; /* NULL or empty: no flows */
    const struct bind_cores *cores;
    size_t tasks, flows;        /* flows: between tasks */
    struct exchange_path *path; /* owned; by group and group */
};

/* NO_MEMORY. */
enum berth_code cpu_exchange_init(const struct snapshot *snap, const struct traffic *traffic,
                                  const struct bind_cores *cores, size_t tasks,
                                  struct cpu_exchange *ret, struct berth_err *err);
void cpu_exchange_done(struct cpu_exchange *exchange);

struct exchange_time {
    /* of the busiest task; a lower bound where a rate is unknown; an order of choices alone where
     * a latency is (is_known false) */
    struct estimate time;
    bool is_known;
    double sum_ns;                      /* of all flows */
    const struct traffic_flow *longest; /* of the busiest task; NULL without flows */
    struct exchange_path path;          /* of that flow */
};

/* Of the path's latency, which must be known. */
double cpu_exchange_round_trip_ns(const struct exchange_path *path);

/* Prices all flows of tasks that have their cpus. NO_MEMORY. */
enum berth_code cpu_exchange_time(const struct cpu_exchange *exchange, const struct bind_task *task,
                                  struct exchange_time *ret, struct berth_err *err);

/* Exchanges the tasks' cpus and memory so that the flows take least time; by distance where no time
 * is known. Those of more than SEARCH_SLOTS_MAX tasks stay. NO_MEMORY. */
enum berth_code cpu_exchange_assign(const struct cpu_exchange *exchange, struct bind_task *task,
                                    struct berth_err *err);

/* By task: the lowest task that it exchanges bytes with, directly or through others; itself without
 * flows. */
void cpu_exchange_families(const struct cpu_exchange *exchange, size_t *ret);
