/**
 * ROCR_VISIBLE_DEVICES inside a job whose devices Slurm constrains. There the runtime counts only the gpus that the job may open, and Slurm numbers its own variables so; a plan
 * counts all gpus of the node where they have no UUID. Pure, but for slurm_visible_value; any thread.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether Slurm counts visible, its *_VISIBLE_DEVICES, otherwise than numbers, its SLURM_STEP_GPUS: then devices are constrained. NULL: not set. A step that has the first
 * gpus of the node counts them alike either way. */
bool slurm_visible_is_inside(const char *visible, const char *numbers);

/* A plan's list of a node's numbers as numbers among these gpus of the step, count names; a list of UUIDs stays. False when one is none of them, or it does not fit. */
bool slurm_visible_inside(const char *list, const json_t *node, const char *const *gpus, int count, char *ret, size_t size);

/* What a process knows of the job that it is in. */
struct slurm_visible_job {
    const char *visible, *numbers; /* its ROCR_VISIBLE_DEVICES and SLURM_STEP_GPUS as Slurm has set them; NULL: not set */
    const char *const *gpus;       /* of the step */
    int count;
};

/* The plan's value for ROCR_VISIBLE_DEVICES as the runtime of this process counts: among the step's gpus where Slurm's variables say so, else among those whose device nodes this
 * process may open, where these are some of all: --gpu-bind=none leaves no variables, and the device cgroup still stands. False when it cannot be told. */
bool slurm_visible_value(const char *list, const json_t *node, const struct slurm_visible_job *job, char *ret, size_t size);
