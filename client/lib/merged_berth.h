/**
 * The berth of a task to which its launcher has bound gpus of its choice. A plan that has one berth
 * for each gpu of the step fits whatever the launcher has chosen: the task takes those of its gpus
 * together. Tasks with other gpus have other cpus then; tasks that share a gpu share its cpus.
 * Pure; any thread.
 */
#pragma once
#include <stdbool.h>

#include "lib/berth.h"

struct lib_merge {
    struct berth_task task; /* its texts are the binding's and this one's */
    char *cpus;
    const char **memory;
    struct berth_pair *pairs;
};

/* Cpus and memory of the berths of these gpus, and the variables of the first, of those that choose
 * a nic what all have. False when the plan has none for one of the gpus, there are no gpus, or
 * memory is short: ret is then untouched. The caller ends it with lib_merge_done, before the
 * binding. */
bool lib_merge(const struct berth_binding *binding, const struct berth_texts *gpus,
               struct lib_merge *ret);
void lib_merge_done(struct lib_merge *together); /* one of zeros is fine */
