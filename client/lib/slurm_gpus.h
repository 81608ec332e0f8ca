/**
 * What Slurm's variables say of a step's gpus: how many there are, and whether each task sees all
 * of them or has been bound to some (--gpu-bind).
 *
 * Pure; any thread.
 */
#pragma once

enum lib_dealt { LIB_DEALT_UNKNOWN, LIB_DEALT_TO_ALL, LIB_DEALT_TO_EACH };

/* Of SLURM_GPUS_ON_NODE, which Slurm sets in batch scripts and steps that have gpus, and nowhere
 * else; 0 where it is not set (NULL) or no number. */
long lib_dealt_count(const char *gpus_on_node);

/* Of the same and of SLURM_STEP_GPUS: a task that is bound has its own there, fewer than the
 * node's; what is no list (--gpu-bind=none names none) binds nobody. Unknown where no number of
 * gpus is. */
enum lib_dealt lib_dealt_of(const char *gpus_on_node, const char *step_gpus);
