/**
 * What transfers share, found from what each got when they ran together. Pure; flows, runs and candidates are numbers here, resource_model.h knows what
 * they are.
 *
 * A flow gets at most what it gets alone. A limit is a capacity that its users share max-min fairly: nobody gets less than another user who could do with less.
 * It is constant, or a small table by how many of its users are at work, where the runs show that it changes with them.
 *
 * Which limits there are is decided greedily, by the smallest run that the limits found so far do not explain: of the candidates that some of its slower flows use,
 * the one that explains the most flows of all runs, less those that it spoils, and whose users were slower together; without such a candidate the slower flows themselves are one, without a name. The capacity is the one
 * of least squares: a run in which users are slower than without the limit has no slack, the others have a slack of at least 0.
 *
 * Not everything is shared evenly: an engine takes one copy after the other, writes to a memory get more of it than reads. Runs whose flows that leaves unexplained, and which get less
 * together than predicted, are explained by what all their flows get together, in the same way but by candidates alone: how long equal transfers take until the last has ended follows from that. Such
 * runs stay not reproduced, and how far the last end is off where shares are as measured is in the limit's spread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define RESOURCE_TOLERANCE    0.05 /* a run is reproduced when each of its flows is */
#define RESOURCE_STEPS_MAX    8
#define RESOURCE_TWINS_MAX    4
#define RESOURCE_LIMITS_MAX   64
#define RESOURCE_NO_CANDIDATE ((size_t)-1)

struct resource_step {
    unsigned flows;     /* from so many users on */
    double bytes_per_s;
    double low, high;   /* what the runs allow; NAN: one run alone, without an interval, says it */
    double spread;      /* half the 95 % interval of what one more run gets, relative; NAN: a run has no interval */
};

struct resource_limit {
    size_t candidate;                  /* RESOURCE_NO_CANDIDATE: of no known kind */
    size_t twin[RESOURCE_TWINS_MAX];   /* other candidates that the runs cannot tell from it */
    size_t twin_count;
    unsigned char *users;              /* owned; by flow: 1 a user */
    struct resource_step step[RESOURCE_STEPS_MAX]; /* ascending by flows; before the first there is no limit */
    size_t step_count;
};

struct resource_run {
    size_t count;
    size_t *flow;
    double *rate;         /* bytes per second */
    double *low, *high;   /* NAN unknown */
    double *predicted;    /* result */
    bool is_reproduced;   /* result */
};

/* Everything is the caller's, but for limit, which resource_fit makes and resource_fit_done frees. */
struct resource_problem {
    double *alone; /* by flow */
    size_t flow_count;
    struct resource_run *run;
    size_t run_count;
    const unsigned char *candidate; /* candidate_count rows of flow_count: 1 a user; what is more particular comes first */
    const bool *is_end; /* by candidate: what goes out of one place, or into one, is one limit wherever its users were slower; NULL none is */
    size_t candidate_count;
    struct resource_limit *limit;
    size_t limit_count;
};

/* False when out of memory; the problem is then as it was. */
bool resource_fit(struct resource_problem *problem);
void resource_fit_done(struct resource_problem *problem);

/* INFINITY: none for so few. */
double resource_capacity(const struct resource_limit *limit, unsigned flows);

/* What each of count flows gets under these limits. */
void resource_share(const double *alone, const struct resource_limit *limit, size_t limit_count, const size_t *flow, size_t count, double *ret_rate);
