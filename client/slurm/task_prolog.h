/**
 * Slurm's task prolog: the variables of a task's berth, for sites without the plugin. It runs as
 * the job's user in the task's environment, before the task, and Slurm obeys what it prints.
 */
#pragma once
#include <stdio.h>

/* what the plugin calls the process of a task until that executes its program: then there is
 * nothing left to do */
#define SLURM_TASK_PLACED "berth-placed"

/* Writes "export NAME=value" and "unset NAME" lines to output, for the berth of this task among all
 * tasks of its step here: which one it is comes from the launcher's variables, the gpus from
 * SLURM_STEP_GPUS. All of them or none. None for a task that Slurm has bound to some of the step's
 * gpus (SLURM_GPUS_ON_NODE counts more), or that has none. Asks the daemon at socket (NULL: the
 * usual one) for budget_ms in all; the first task of the step logs why there was no answer.
 * gres_conf as of slurm_gres_load. */
void slurm_task_print(const char *socket, int budget_ms, const char *gres_conf, FILE *output);
