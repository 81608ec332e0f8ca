/**
 * Gpus of a step according to Slurm's variables: their number, the tasks' binding to them, and
 * their default distribution over the tasks. The library, the command and the plugin read them
 * here.
 *
 * Pure; any thread.
 */
#pragma once
#include "lib/berth.h"

/* Binding of a task to gpus: it sees all of its step, or is bound to some (--gpu-bind). */
enum lib_slurm_binding { LIB_SLURM_UNKNOWN, LIB_SLURM_UNBOUND, LIB_SLURM_BOUND };

/* Number in SLURM_GPUS_ON_NODE; 0 when it is NULL or no number. Slurm sets it only in batch scripts
 * and steps that have gpus. */
long lib_slurm_gpus_count(const char *gpus_on_node);

/* Compares SLURM_STEP_GPUS with SLURM_GPUS_ON_NODE. A bound task lists its own gpus there, fewer
 * than the node's. A value that is no list (--gpu-bind=none names none) binds no task. Unknown
 * without a number of gpus. */
enum lib_slurm_binding lib_slurm_gpus_binding(const char *gpus_on_node, const char *step_gpus);

/* Sets gpus_per_task, tasks_per_gpu and visible so that no gpu of the step is lost. Each task gets
 * an equal number. Gpus left over are visible to all tasks. With too few gpus, several tasks share
 * one. request must have its number of tasks. A request that sets gpus_per_task stays as it is. */
void lib_slurm_gpus_distribute(int gpus, struct berth_bind_request *request);
