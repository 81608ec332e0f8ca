/**
 * Slurm's hooks beside prolog and epilog (slurm/job.h): the health check and the task prolog.
 */
#pragma once
#include <stdio.h>

#include "slurm/call.h"

/* slurm/health.c: drains the node when berthd advises it and, if configured, resumes a node that it
 * has drained itself. */
struct slurm_health {
    const char *node;  /* Slurm's name of this node */
    const char *state; /* file with the count of clean checks, kept between runs */
    /* clean checks in a row that resume the node; 0: only an administrator resumes it */
    long resume_after;
};

/* Runs one check. Drains only when Check advises it and nobody has drained the node before. Resumes
 * only a node whose reason is berth's own. Changes nothing when the daemon gives no answer. Runs
 * scontrol. Logs its actions and failures. */
void slurm_health_check(struct slurm_call *call, const struct slurm_health *health);

/* slurm/task_prolog.c: variables of a task's berth, for sites without the plugin. Runs before the
 * task, as the job's user and in the task's environment. Slurm obeys the lines that it prints. */

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
