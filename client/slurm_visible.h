/**
 * ROCR_VISIBLE_DEVICES inside a job whose devices Slurm constrains. There the runtime counts only the gpus that the job may open, and Slurm numbers its own variables so; a plan
 * counts all gpus of the node where they have no UUID. Pure; any thread.
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
