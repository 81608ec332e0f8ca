/**
 * Visible gpus of PyTorch's workers. A training script takes cuda:LOCAL_RANK, so each worker has to
 * see the gpus of all workers in the order of their numbers, not its own alone. Pure; any thread.
 */
#pragma once
#include <stdbool.h>

#include "lib/berth.h"

struct lib_local_ranks {
    struct berth_task task; /* texts borrowed from the binding and from this structure */
    char *value;
    struct berth_pair *pairs;
};

/* Makes the berth of a task of the binding show all tasks' gpus in order, then those that are left
 * over. False under another launcher than torchrun or DeepSpeed, when a task has no gpu of its own
 * or more than one, when the variables do not tell, or when memory is short; ret is then untouched.
 * The caller ends ret with lib_local_ranks_done, before the binding. */
bool lib_local_ranks(const struct berth_launcher *launcher, const struct berth_binding *binding,
                     const struct berth_task *task, struct lib_local_ranks *ret);
void lib_local_ranks_done(struct lib_local_ranks *ranks); /* accepts a zeroed structure */
