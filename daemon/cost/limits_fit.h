/**
 * Fit: the limits that explain the rates of concurrent runs. Flows, runs and candidates are
 * numbers.
 *
 * A flow gets at most its rate alone. A limit is a capacity that its users share max-min
 * fairly, a table by their number where the runs show that it changes with it. Limits are chosen
 * greedily, for the smallest run that is not explained yet: of the candidates with slower users in
 * it the one that explains the most flows of all runs, less those that it spoils; without such a
 * candidate the slower flows themselves are the users of one without a name. The capacity is the
 * mean of the runs that it slows, and of those that exceed it.
 *
 * Shares are not always fair: an engine takes one copy after the other, a memory prefers writes.
 * Runs that this leaves unexplained, and that get less in all than predicted, are explained by
 * their totals, by candidates alone. They stay not reproduced.
 */
#pragma once
#include "cost/limits.h"

#define FIT_LIMITS_MAX   64
#define FIT_NO_CANDIDATE ((size_t)-1)

struct fit_run {
    size_t count;
    const struct set_flow *measured; /* rates and intervals */
    size_t *flow;                    /* the numbers of these */
    struct limits_run *result;       /* predicted has room for count */
    bool is_given_up;                /* private: nothing explains it */
};

struct fit_candidate {
    uint16_t part;              /* the caller's */
    const unsigned char *users; /* by flow: 1 a user */
    /* one limit wherever its users were slower; else only if runs that slow users connect them */
    bool is_one;
    const unsigned char *way[2]; /* of both directions: the users of each; else NULL */
    double unslowed; /* private: highest rate alone of a user that was in no run that slows some */
};

struct fit_limit {
    size_t candidate;                         /* FIT_NO_CANDIDATE: without a name */
    size_t twin[LIMIT_TWINS_MAX], twin_count; /* other candidates that explain as much */
    const unsigned char *users;
    struct limit_step step[LIMIT_STEPS_MAX]; /* as in struct limit */
    size_t step_count;
};

/* Limits, and users of those without a name, are results. */
struct fit {
    double *alone; /* by flow */
    size_t flow_count;
    struct fit_run *run;
    size_t run_count;
    struct fit_candidate *candidate; /* the most particular first */
    size_t candidate_count;
    struct fit_limit limit[FIT_LIMITS_MAX + 1];
    size_t limit_count;
    unsigned char *unnamed; /* by limit and flow; the caller frees it */
};

/* False when out of memory. */
bool limits_fit(struct fit *fit);
