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
 * their totals, by candidates alone. They stay not reproduced; the limit's spread holds how far
 * the last end is off.
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
};

struct fit_candidate {
    unsigned char *users; /* by flow: 1 a user */
    bool is_one_place;    /* one limit wherever its users were slower */
    size_t one_way;       /* of both directions: the candidate of one; FIT_NO_CANDIDATE none */
    bool is_one;          /* private: runs connect its users, or need not */
    double unslowed;      /* private: highest rate alone of a user that no run slowed */
    /* private: by number of users n: the highest total of a run with 2 users, with 3, ... with n;
     * the lowest of these */
    double least[SETS_FLOWS_MAX + 1];
};

struct fit_limit {
    size_t candidate;                         /* FIT_NO_CANDIDATE: without a name */
    size_t twin[LIMIT_TWINS_MAX], twin_count; /* other candidates that explain as much */
    unsigned char *users;
    struct limit_step step[LIMIT_STEPS_MAX]; /* as in struct limit */
    size_t step_count;
};

/* Everything is the caller's but limit. */
struct fit {
    double *alone; /* by flow */
    size_t flow_count;
    struct fit_run *run;
    size_t run_count;
    struct fit_candidate *candidate; /* the most particular first */
    size_t candidate_count;
    struct fit_limit *limit;
    size_t limit_count;
};

/* False when out of memory: there are no limits then. */
bool limits_fit(struct fit *fit);
void limits_fit_done(struct fit *fit);

/* Marks the users that were slower than alone in a run with another user. */
void limits_fit_mark_slowed(const struct fit *fit, const unsigned char *users,
                            unsigned char *ret_slowed);
