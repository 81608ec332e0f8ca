/**
 * Slurm's health check: drains the node when berthd advises it, and, when told so, resumes what it
 * has drained itself.
 */
#pragma once
#include "slurm/call.h"

struct slurm_health {
    const char *node;  /* Slurm's name of this node */
    const char *state; /* the file that counts clean checks from one run to the next */
    /* so many clean checks in a row resume the node; 0: an administrator does */
    long resume_after;
};

/* One check. Drains only when Check says so and nobody has drained the node before; resumes only a
 * node whose reason is berth's own. A daemon that gives no answer changes nothing. Runs scontrol.
 * Logs what it does and what it cannot do. */
void slurm_health_check(struct slurm_call *call, const struct slurm_health *health);
