/**
 * Calls of Slurm's hooks: all of one hook's calls together take a bounded time, whatever the daemon
 * does.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/berth.h"

struct slurm_call {
    struct berth *berth; /* NULL: there is no connection */
    int64_t end_ms;      /* of CLOCK_MONOTONIC */
    int budget_ms;
    /* standard error is the job's: slurm_call_tell leaves it alone; false at first */
    bool is_quiet;
};

/* Connects to socket (NULL: the usual one). Gives berth's status; slurm_call_done also on failure.
 */
int slurm_call_init(struct slurm_call *call, const char *socket, int budget_ms);
void slurm_call_done(struct slurm_call *call);

/* The handle, for one call of the library that may wait for as long as is left of the budget. */
struct berth *slurm_call_left(struct slurm_call *call);

/* Takes the parameters (NULL: out of memory) and waits for as long as is left. ret_reply (may be
 * NULL): a new reference. Gives berth's status. */
int slurm_call(struct slurm_call *call, const char *method, json_t *take_parameters,
               json_t **ret_reply);

/* Why the last one failed, one line; where the time was over, the time of all calls. */
const char *slurm_call_why(struct slurm_call *call);

/* A line for the administrator, to the system's log as berth-slurm and to standard error. */
void slurm_call_log(int priority, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same, to the system's log alone where the call is quiet. */
void slurm_call_tell(const struct slurm_call *call, int priority, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
