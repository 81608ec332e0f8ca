/**
 * Health check for Slurm: drains the node when berthd advises it and, if configured, resumes a node
 * that it has drained itself.
 */
#pragma once
#include "slurm/call.h"

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
