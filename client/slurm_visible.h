/**
 * ROCR_VISIBLE_DEVICES inside a job whose devices Slurm constrains. There the runtime counts only the gpus that the job may open, and Slurm numbers its own variables so; the
 * daemon, which knows no job's devices, leaves numbers out where they might differ. Pure, but for slurm_visible_value; any thread.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "berth.h"

/* Whether Slurm counts visible, its *_VISIBLE_DEVICES, otherwise than numbers, its SLURM_STEP_GPUS: then devices are constrained. NULL: not set. A step that has the first
 * gpus of the node counts them alike either way. */
bool slurm_visible_is_inside(const char *visible, const char *numbers);

/* What a process knows of the job that it is in. */
struct slurm_visible_job {
    const char *visible, *numbers; /* its ROCR_VISIBLE_DEVICES and SLURM_STEP_GPUS as Slurm has set them; NULL: not set */
    const char *const *gpus;       /* of the step */
    int count;
};

/* The value of ROCR_VISIBLE_DEVICES that shows the runtime of this process these gpus, own ones first, then those of others (may be NULL) that are not own. It counts among the
 * step's gpus where Slurm's variables say so, and else among those whose device nodes this process may open: --gpu-bind=none leaves no variables, and the device cgroup still
 * stands. False when one of them is no gpu of AMD's without a UUID, or nothing tells how they are counted here. */
bool slurm_visible_value(const json_t *node, const struct slurm_visible_job *job, const struct berth_texts *own, const struct berth_texts *others, char *ret, size_t size);
