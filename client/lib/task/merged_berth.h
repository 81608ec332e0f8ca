/**
 * Berth of a task whose launcher has chosen its gpus. A plan with one berth per gpu of the step
 * fits any choice of the launcher: the task takes the berths of its gpus together. Tasks with
 * different gpus then have different cpus; tasks that share a gpu share its cpus. Pure; any thread.
 */
#pragma once
#include <stdbool.h>

#include "lib/berth.h"

struct lib_merge {
    struct berth_task task; /* texts borrowed from the binding and from this structure */
    char *cpus;
    const char **memory;
    struct berth_pair *pairs;
};

/* Joins the cpus and memory of the berths of these gpus. Takes the variables of the first berth;
 * those that choose a nic only when equal in all. False when the plan lacks one of the gpus, there
 * are no gpus, or memory is short; ret is then untouched. The caller ends ret with lib_merge_done,
 * before the binding. */
bool lib_merge(const struct berth_binding *binding, const struct berth_texts *gpus,
               struct lib_merge *ret);
void lib_merge_done(struct lib_merge *merged); /* accepts a zeroed structure */
