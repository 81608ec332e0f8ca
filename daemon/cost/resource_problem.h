/**
 * What cost/resource_fit.h is asked, in numbers: flows, the runs in which they were measured
 * together, candidates for what they share; and what it answers, the limits.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define RESOURCE_TOLERANCE    0.05 /* a run is reproduced when each of its flows is */
#define RESOURCE_STEPS_MAX    8
#define RESOURCE_TWINS_MAX    4
#define RESOURCE_LIMITS_MAX   64
#define RESOURCE_NO_CANDIDATE ((size_t)-1)

/* What a limit carries from so many of its users on. */
struct resource_step {
    unsigned flows; /* from so many users on */
    double bytes_per_s;
    double low, high; /* what the runs allow; NAN: one run alone, without an interval, says it */
    /* half the 95 % interval of what one more run gets, relative; NAN: a run has no interval */
    double spread;
};

struct resource_limit {
    size_t candidate;                /* RESOURCE_NO_CANDIDATE: of no known kind */
    size_t twin[RESOURCE_TWINS_MAX]; /* other candidates that the runs cannot tell from it */
    size_t twin_count;
    unsigned char *users; /* owned; by flow: 1 a user */
    /* ascending by flows; before the first there is no limit */
    struct resource_step step[RESOURCE_STEPS_MAX];
    size_t step_count;
};

struct resource_run {
    size_t count;
    size_t *flow;
    double *rate;       /* bytes per second */
    double *low, *high; /* NAN unknown */
    double *predicted;  /* result */
    bool is_reproduced; /* result */
};

/* Everything is the caller's, but for limit, which resource_fit makes and resource_fit_done frees.
 */
struct resource_problem {
    double *alone; /* by flow */
    size_t flow_count;
    struct resource_run *run;
    size_t run_count;
    /* candidate_count rows of flow_count: 1 a user; what is more particular comes first */
    const unsigned char *candidate;
    /* by candidate: what goes out of one place, or into one, is one limit wherever its users were
     * slower; NULL none is */
    const bool *is_end;
    /* by candidate about both directions: the one about the one of them, RESOURCE_NO_CANDIDATE
     * none; NULL none has */
    const size_t *one_way;
    size_t candidate_count;
    struct resource_limit *limit;
    size_t limit_count;
};
