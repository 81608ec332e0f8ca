/**
 * Calls of Slurm's hooks. All calls of one hook together take a bounded time, whatever the daemon
 * does.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/berth.h"

struct slurm_call {
    struct berth *berth; /* NULL: no connection */
    int64_t end_ms;      /* deadline on CLOCK_MONOTONIC */
    int budget_ms;
    /* true: slurm_call_report does not write to standard error, which belongs to the job; false at
     * first */
    bool is_quiet;
};

/* Connects to socket (NULL: the usual one) and returns berth's status. The caller ends call with
 * slurm_call_done, also on failure. */
int slurm_call_init(struct slurm_call *call, const char *socket, int budget_ms);
void slurm_call_done(struct slurm_call *call);

/* Handle for one call of the library, with the rest of the budget as its timeout. */
struct berth *slurm_call_left(struct slurm_call *call);

/* Makes a call with the rest of the budget as its timeout. Takes the parameters (NULL: out of
 * memory). ret_reply (may be NULL) receives a new reference. Returns berth's status. */
int slurm_call(struct slurm_call *call, const char *method, json_t *take_parameters,
               json_t **ret_reply);

/* Reason of the last failure, one line. For a late reply it gives the time of all calls together.
 */
const char *slurm_call_why(struct slurm_call *call);

/* Writes a line for the administrator, to the system's log as berth-slurm and to standard error. */
void slurm_call_log(int priority, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes the line to the system's log and, unless the call is quiet, to standard error. */
void slurm_call_report(const struct slurm_call *call, int priority, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
