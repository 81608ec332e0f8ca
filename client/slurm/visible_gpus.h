/**
 * ROCR_VISIBLE_DEVICES inside a job whose devices Slurm constrains. There the runtime counts only
 * the gpus that the job may open, and Slurm numbers its own variables so; the daemon, which knows
 * no job's devices, leaves numbers out where they might differ. Pure, but for slurm_visible_value;
 * any thread.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/berth.h"

/* Whether Slurm counts visible, its *_VISIBLE_DEVICES, otherwise than numbers, its SLURM_STEP_GPUS:
 * then devices are constrained. NULL: not set. A step that has the first gpus of the node counts
 * them alike either way. */
bool slurm_visible_is_inside(const char *visible, const char *numbers);

/* What a process knows of the job that it is in. */
struct slurm_visible_job {
    /* its ROCR_VISIBLE_DEVICES and SLURM_STEP_GPUS as Slurm has set them; NULL: not set */
    const char *visible, *numbers;
    const char *const *gpus; /* of the step */
    int count;
};

/* The value of ROCR_VISIBLE_DEVICES that shows the runtime of this process these gpus, own ones
 * first, then those of others (may be NULL) that are not own. It counts among the step's gpus where
 * Slurm's variables say so, and else among those whose device nodes this process may open:
 * --gpu-bind=none leaves no variables, and the device cgroup still stands. False when one of them
 * is no gpu of AMD's without a UUID, or nothing tells how they are counted here. */
bool slurm_visible_value(const json_t *node, const struct slurm_visible_job *job,
                         const struct berth_texts *own, const struct berth_texts *others, char *ret,
                         size_t size);

/* A berth with the variables that show a task its gpus, for a plan that leaves them out: AMD gpus
 * without a UUID are named by numbers, and the daemon cannot see which ones count here. */
struct slurm_visible {
    struct berth_task task; /* its texts are the plan's and this one's */
    struct berth_pair *pairs;
    const char **unset;
    char value[1024];
};

/* Whether the berth has gpus, and no variable that shows them. */
bool slurm_visible_lacks(const struct berth_task *task);

/* The berth with them, as this process's runtime counts: ROCR_VISIBLE_DEVICES set, what would
 * narrow it further unset. others: what the task is to see beside its own gpus; NULL nothing. False
 * when that cannot be told, or memory is short: ret is then untouched. The caller ends it with
 * slurm_visible_done, before the plan. */
bool slurm_visible_make(const json_t *node, const struct slurm_visible_job *job,
                        const struct berth_task *task, const struct berth_texts *others,
                        struct slurm_visible *ret);
void slurm_visible_done(struct slurm_visible *visible); /* one of zeros is fine */
