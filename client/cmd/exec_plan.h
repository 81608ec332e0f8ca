/**
 * The plan of a task that berth exec starts: which task this is, what its step may use, and its
 * berth. Reads no command line.
 *
 * Calls in this order: exec_plan_who, exec_plan_connect, exec_plan_step, exec_plan_ask; each gives
 * a status of berth.h, and the handle then has the error. Connecting and all calls together take at
 * most timeout_ms.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/berth.h"
#include "lib/merged_berth.h"
#include "slurm/visible_gpus.h"

struct exec_plan {
    struct berth *berth; /* borrowed */
    int timeout_ms;
    int64_t end_ms;              /* of CLOCK_MONOTONIC */
    struct berth_launcher *said; /* by the launcher's variables */
    /* the same with the caller's numbers instead; its pointers are said's */
    struct berth_launcher who;
    struct berth_step *step;       /* NULL before it is known */
    struct berth_binding *binding; /* NULL: none was asked for or given */
    /* the berths of the gpus that the launcher has bound the task to */
    struct lib_merge merged;
    struct slurm_visible visible;  /* the berth with its gpus counted as they are here */
    bool sees_all;                 /* each task sees all gpus of the step */
    const struct berth_task *task; /* this task's berth, of binding, merged or visible; NULL none */
    unsigned parts;                /* of it that are to be taken; enum berth_part */
};

/* Fills who in from the launcher's variables; tasks and task, where they are not -1, replace the
 * launcher's numbers. Without either this is the only task. BERTH_DONE also where the launcher does
 * not say enough: then who.task or who.tasks is -1, and who.missing says why. OUT_OF_MEMORY. */
int exec_plan_who(struct exec_plan *plan, int tasks, int task);

/* Starts the time of timeout_ms and connects to socket (NULL: the usual one). Leaves the handle
 * with the rest of the time, for calls of the caller's own. */
int exec_plan_connect(struct exec_plan *plan, const char *socket, int timeout_ms);

/* Finds out what the step may use; given replaces what this process may use, where it has cpus or
 * gpus. */
int exec_plan_step(struct exec_plan *plan, const struct berth_allowed *given);

/* Whether the launcher has bound the task to cpus and to gpus: then nothing is left to ask for. */
bool exec_plan_is_bound(const struct exec_plan *plan);

/* Asks for the plan of the step. options: parameters of Bind, without tasks, key and allowed; one
 * that is not there is chosen from what the launcher says. key: NULL is the step's. BERTH_DONE also
 * with task NULL: no berth of the plan has the gpus that the launcher gave. */
int exec_plan_ask(struct exec_plan *plan, const json_t *options, const char *key);

void exec_plan_done(struct exec_plan *plan);
