/**
 * Folder daemon/sim: an event simulator of flows that share limits. Numbers only: it knows neither
 *   places nor metrics.
 *
 * A flow moves bytes, at most at the rate that it has alone, and uses limits; a limit carries so
 * many bytes per second, which may depend on the number of its users. Rates are max-min fair: water
 * rises in all flows alike, and each stops where it, or a limit that it uses, is full. They are
 * found anew whenever a flow begins or ends. Flows of one engine have even parts of its rate.
 *
 * Pure; the scratch object is reused and one thread's at a time. A run allocates nothing.
 *
 * Main types: struct sim_flow, struct sim_limit, struct sim (scratch).
 * Uses: nobody
 * Public headers: sim.h
 * Shown by: tests/unit/sim
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_NO_LIMIT UINT16_MAX

/* From so many users on a limit carries bytes_per_s, up to the users of the next step. */
struct sim_step {
    unsigned users;
    double bytes_per_s;
};

/* Steps ascend by users; before the first, and without any, nothing is limited. */
struct sim_limit {
    const struct sim_step *step;
    size_t step_count;
    unsigned free; /* nor are up to so many users */
    double off;    /* relative: each step carries (1 + off) times as much */
};

/* The bytes per second that so many users get together; INFINITY unlimited. */
double sim_capacity(const struct sim_limit *limit, unsigned users);

struct sim_flow {
    double bytes;          /* 0: only the times below pass */
    double bytes_per_s;    /* alone; above 0 */
    double begin_ns;       /* until its caller has launched others; it shares nothing before */
    double start_ns;       /* start-up; shares nothing, and is added to the end */
    const uint16_t *limit; /* the limits that it uses, each once */
    unsigned limit_count;
    uint32_t engine;           /* 0: one of its own */
    double engine_bytes_per_s; /* of all its flows; the highest counts, of a flow alone, too */
    uint16_t slowed_by;        /* result: the limit that slowed it last, SIM_NO_LIMIT none */
    double end_ns;             /* result */
};

struct sim;

/* For at most so many flows, limits, and engines, which are numbered from 1. NULL when out of
 * memory.
 */
struct sim *sim_new(size_t flows, size_t limits, size_t engines);
void sim_free(struct sim *sim); /* NULL is fine */

/* Sets the results of count flows; the latest end. Of more than 256 flows those that end soon after
 * each other end together: late by a percent or so, never early. */
double sim_run(struct sim *sim, const struct sim_limit *limits, struct sim_flow *flows,
               size_t count);

/* The rates of flows that all move at once, each by an engine of its own (0); sets slowed_by. */
void sim_rates(struct sim *sim, const struct sim_limit *limits, struct sim_flow *flows,
               size_t count, double *ret_bytes_per_s);
