/**
 * The time of a step of tasks without GPUs, and the cores that take least of it.
 *
 * Memory: the cores of all tasks whose memory is one NUMA node stream it together, at the rate of
 * so many cores and that memory (cost/memcores.h). Nobody measured several NUMA nodes at once: each
 * counts as alone, without interval. Peers: plan/bind/peers.h. A core streams and exchanges one
 * after the other.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/bind/bind.h"
#include "plan/bind/core_allocator.h"

struct bind_stream {
    const struct snapshot *snap;
    const struct traffic *traffic; /* NULL or empty: nothing says */
    const struct allowed *allowed;
    struct bind_cores *cores;
};

/* Where the cores of tasks without GPUs come from. */
enum bind_order {
    ORDER_EVEN, /* where the fewest other tasks are */
    /* tasks that exchange bytes in one L3, else one NUMA node; such families evenly */
    ORDER_PEERS,
    ORDER_LAUNCHER, /* the first cores to the first task */
};

/* Chooses among three orders of cores by time, else by distance. cpus: those of ORDER_EVEN, each
 * task as many cores as the others; replaced by the chosen ones. NO_MEMORY. */
enum berth_code plan_bind_stream_choose(const struct bind_stream *stream,
                                        const struct core_request *request, int64_t each,
                                        struct cpuset *cpus, enum bind_order *ret_order,
                                        struct berth_err *err);

/* Gives tasks that exchange bytes the fewer cores with which they share an L3, where the step takes
 * less with them; a warning says so. each, cpus and order: those chosen so far. NO_MEMORY. */
enum berth_code plan_bind_stream_choose_fewer(const struct bind_stream *stream,
                                              const struct core_request *request,
                                              struct cpuset *cpus, int64_t *each,
                                              enum bind_order *order, struct reasons *warnings,
                                              struct berth_err *err);

/* What a step of the answer's tasks takes, beside the same with the cores in order; why, or why
 * not. NO_MEMORY. */
enum berth_code plan_bind_stream_tell(const struct bind_stream *stream, struct bind_answer *answer,
                                      struct berth_err *err);
