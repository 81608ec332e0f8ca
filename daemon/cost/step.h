/**
 * Transfers of a request that move at the same time: the time of each, by the simulator and the
 * limits that they share (cost/limits.h). Several of one pair by one mechanism share its rate.
 *
 * Pure; a step is one thread's at a time.
 */
#pragma once
#include "cost/estimate.h"
#include "cost/limits.h"
#include "cost/transfer.h"

#define STEP_FLOWS_MAX SETS_FLOWS_MAX

/* Inputs are either all as expected, or all at one end of their intervals; stated capacities have
 * none. */
enum step_end { STEP_EXPECTED, STEP_FAST, STEP_SLOW };

struct step_flow {
    double bytes, piece; /* it moves so many at a time */
    double begin_ns;     /* delay behind the first; it shares nothing until then */
    double start_ns;     /* of its time alone, while no byte moves */
    double moves_ns;     /* of its time alone, while its bytes move */
    /* results */
    double end_ns;              /* NAN: the interval of what decides it is unknown */
    const struct limit *shared; /* of the snapshot: the limit that slowed it last; NULL none */
    bool is_stated;             /* no run shows the capacity of what slowed it */
};

struct step;

/* Prepares count transfers, at most STEP_FLOWS_MAX. The snapshot and the transfers outlive it. NULL
 * when out of memory. */
struct step *step_new(const struct snapshot *snap, const struct transfer *const *transfers,
                      size_t count);
void step_free(struct step *step); /* NULL is fine */

/* Returns a transfer as a flow in one piece, queued. */
struct step_flow step_flow_of(const struct transfer *transfer, double bytes);

/* Sets the results of the flows, one of each transfer. Allocates nothing. */
void step_run(struct step *step, struct step_flow *flows, enum step_end end);
