/**
 * Slurm's task prolog: the variables of a task's berth, for sites without the plugin. It runs
 * before the task, as the job's user and in the task's environment. Slurm obeys the lines that it
 * prints.
 */
#pragma once
#include <stdio.h>

/* name of a task's process from the plugin until the task executes its program; the prolog then has
 * nothing to do */
#define SLURM_TASK_PLACED "berth-placed"

/* Writes "export NAME=value" and "unset NAME" lines to output, for this task's berth among all
 * tasks of its step here. The launcher's variables identify the task; SLURM_STEP_GPUS gives the
 * gpus. Writes all lines or none. Writes none for a task without gpus, or bound by Slurm to some of
 * the step's gpus (SLURM_GPUS_ON_NODE counts more). Asks the daemon at socket (NULL: the usual one)
 * for budget_ms in all. The first task of the step logs the reason of a missing answer. gres_conf
 * as in slurm_gres_load. */
void slurm_task_print(const char *socket, int budget_ms, const char *gres_conf, FILE *output);
