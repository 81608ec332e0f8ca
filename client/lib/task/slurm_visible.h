/**
 * ROCR_VISIBLE_DEVICES inside a job whose devices Slurm constrains. There the runtime counts only
 * the gpus that the job may open, and Slurm numbers its own variables so. The daemon does not know
 * any job's devices, so it leaves out ambiguous numbers. Pure, except slurm_visible_value; any
 * thread.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/berth.h"

/* True when visible, a *_VISIBLE_DEVICES of Slurm, counts otherwise than numbers, its
 * SLURM_STEP_GPUS. The devices are then constrained. NULL: not set. For a step with the first gpus
 * of the node both counts agree. */
bool slurm_visible_is_inside(const char *visible, const char *numbers);

/* Facts of a job that its process can read. */
struct slurm_visible_job {
    /* ROCR_VISIBLE_DEVICES and SLURM_STEP_GPUS as Slurm has set them; NULL: not set */
    const char *visible, *numbers;
    const char *const *gpus; /* gpus of the step */
    int count;
};

/* Value of ROCR_VISIBLE_DEVICES that makes these gpus visible: own ones first, then those of others
 * (may be NULL) that are not own. It counts among the step's gpus where Slurm's variables show so.
 * Else it counts among the gpus whose device nodes this process may open: --gpu-bind=none leaves no
 * variables, but the device cgroup still holds. False when a gpu is not an AMD gpu without a UUID,
 * or the local count is unknown. */
bool slurm_visible_value(const json_t *node, const struct slurm_visible_job *job,
                         const struct berth_texts *own, const struct berth_texts *others, char *ret,
                         size_t size);

/* A berth with the variables that show a task its gpus, for a plan without them. Numbers name AMD
 * gpus without a UUID, and the daemon cannot see which ones count here. */
struct slurm_visible {
    struct berth_task task; /* texts borrowed from the plan and from this structure */
    struct berth_pair *pairs;
    const char **unset;
    char value[1024];
};

/* True when the berth has gpus, and no variable that shows them. */
bool slurm_visible_lacks(const struct berth_task *task);

/* Copies the berth and adds the variables, in the count of this process's runtime. Sets
 * ROCR_VISIBLE_DEVICES and unsets the variables that narrow it further. others: gpus that the task
 * sees beside its own; NULL none. False when the numbers are unknown, or memory is short; ret is
 * then untouched. The caller ends ret with slurm_visible_done, before the plan. */
bool slurm_visible_make(const json_t *node, const struct slurm_visible_job *job,
                        const struct berth_task *task, const struct berth_texts *others,
                        struct slurm_visible *ret);
void slurm_visible_done(struct slurm_visible *visible); /* accepts a zeroed structure */
