/**
 * Plan of a task that takes its berth: the task's number, the resources of its step, and its berth.
 * For berth_take and berth exec.
 *
 * Order of calls: lib_take_identify, lib_take_connect, lib_take_step, lib_take_ask. Each returns a
 * status of berth.h; the handle then has the error. Connecting and all calls together take at most
 * timeout_ms.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/berth.h"
#include "lib/task/local_ranks.h"
#include "lib/task/merged_berth.h"
#include "lib/task/slurm_visible.h"

struct lib_take {
    struct berth *berth; /* borrowed */
    int timeout_ms;
    int64_t end_ms;                  /* deadline on CLOCK_MONOTONIC */
    struct berth_launcher *reported; /* result of berth_launcher_here */
    /* copy with the caller's numbers; borrows the texts of said */
    struct berth_launcher launcher;
    struct berth_step *step;       /* NULL until lib_take_step */
    struct berth_binding *binding; /* NULL: none requested, or none received */
    /* joined berths of the gpus that the launcher has bound to the task */
    struct lib_merge merged;
    struct lib_local_ranks local; /* the berth with the gpus of all of PyTorch's workers */
    struct slurm_visible visible; /* the berth with its gpus in the local count */
    bool sees_all;                /* each task sees all gpus of the step */
    const struct berth_task
        *task;      /* this task's berth, of the binding or a field above; NULL none */
    unsigned parts; /* parts of it to take; enum berth_part */
};

/* Fills who from the launcher's variables. tasks and task, unless -1, replace the launcher's
 * numbers. Without launcher and numbers this is the only task. Returns BERTH_DONE also when a
 * number is missing: who.task or who.tasks is then -1, and who.missing gives the reason. Fails with
 * OUT_OF_MEMORY. */
int lib_take_identify(struct lib_take *plan, int tasks, int task);

/* Starts the time of timeout_ms and connects to socket (NULL: the usual one). Leaves the handle
 * with the rest of the time, for the caller's own calls. */
int lib_take_connect(struct lib_take *plan, const char *socket, int timeout_ms);

/* Finds the resources of the step. given replaces the resources of this process, where it has cpus
 * or gpus. */
int lib_take_step(struct lib_take *plan, const struct berth_allowed *given);

/* True when the launcher has bound the task to cpus and to gpus: no request is needed. */
bool lib_take_is_bound(const struct lib_take *plan);

/* Requests the plan of the step. options: parameters of Bind, without tasks, key and allowed;
 * missing ones come from the launcher's variables. key: NULL is the step's. Returns BERTH_DONE also
 * with task NULL: no berth of the plan has the gpus that the launcher gave. */
int lib_take_ask(struct lib_take *plan, const json_t *options, const char *key);

void lib_take_done(struct lib_take *plan);
