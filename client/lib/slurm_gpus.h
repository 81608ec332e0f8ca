/**
 * Gpus of a step according to Slurm's variables: their number, and their visibility. A task sees
 * all of them or is bound to some (--gpu-bind).
 *
 * Pure; any thread.
 */
#pragma once

enum lib_dealt { LIB_DEALT_UNKNOWN, LIB_DEALT_TO_ALL, LIB_DEALT_TO_EACH };

/* Number in SLURM_GPUS_ON_NODE; 0 when it is NULL or no number. Slurm sets it only in batch scripts
 * and steps that have gpus. */
long lib_dealt_count(const char *gpus_on_node);

/* Compares SLURM_STEP_GPUS with SLURM_GPUS_ON_NODE. A bound task lists its own gpus there, fewer
 * than the node's. A value that is no list (--gpu-bind=none names none) binds no task. Unknown
 * without a number of gpus. */
enum lib_dealt lib_dealt_of(const char *gpus_on_node, const char *step_gpus);
