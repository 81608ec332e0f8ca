/**
 * An iteration: transfers that are begun at the same moment, each by its caller, and the time until
 * the last of them has ended.
 *
 * A flow waits until its caller has launched those before it, and for its own start-up. Its bytes
 * move at the rate that it has alone, or at less while limits that it shares are full; flows
 * between the same places get together what one has, kernels what an engine has where that is more.
 * Its limits are those of cost/usage.h.
 *
 * The interval is the same simulation with all inputs at their fast and at their slow end. At the
 * slow end, too, callers wait for each other's calls, as threads of one process may.
 *
 * Pure. A run allocates nothing; an iteration object is one thread's at a time.
 */
#pragma once
#include "cost/usage.h"

struct flow {
    const struct user *user;         /* NULL: it takes no time */
    const struct transfer *transfer; /* its numbers, from one place of the user to the other */
    double bytes, piece;             /* it moves so many at a time */
    double begin_ns;                 /* delay by the launches of its caller before it */
    double start_ns;                 /* of its time alone: no byte moves */
    double bytes_ns;                 /* of its time alone: the rest */
    const uint16_t *limit; /* of the user; without what both directions get, if the time has that */
    unsigned limit_count;
    bool is_queued; /* its caller knows when it starts, and how sure that is */
    /* results */
    double end_ns;              /* NAN: the interval of what decides it is unknown */
    const struct limit *shared; /* of the usage: slowed it last; NULL nothing */
    const struct set *run;      /* of the snapshot: it gets no more than there; NULL none */
};

/* Returns a flow by the numbers of the user as a call, or by those of another transfer of the same
 * places and mechanism behind others in a queue. user NULL: a flow that takes no time. */
struct flow iteration_flow(const struct user *user, double bytes);
struct flow iteration_queued(const struct user *user, const struct transfer *transfer,
                             double bytes);

/* True where no run shows the capacity of what slowed the flow. */
bool iteration_is_stated(const struct flow *flow);

struct iteration; /* scratch of the simulator */

/* For at most so many flows. NULL when out of memory. */
struct iteration *iteration_new(const struct usage *usage, size_t most_flows);
void iteration_free(struct iteration *iteration); /* NULL is fine */

/* All inputs are as expected, or at one end of their intervals. Stated capacities have none. */
enum iteration_end { ITERATION_FAST = -1, ITERATION_EXPECTED, ITERATION_SLOW };

/* Fills the results of count flows; returns the latest end. */
double iteration_run(struct iteration *iteration, struct flow *flows, size_t count,
                     enum iteration_end end);

struct prediction {
    /* low and high NAN where an input has no interval. source: the most doubtful one of its flows
     * and of what they share; at best a similar pair where it is not explained */
    struct estimate time;
    double waits_ns;   /* of high_ns: calls of other callers */
    size_t last;       /* the flow that ends last */
    bool is_explained; /* no run of its transfers got less than limits explain */
};

/* As iteration_run with all as expected, and the interval. */
struct prediction iteration_predict(struct iteration *iteration, struct flow *flows, size_t count);
