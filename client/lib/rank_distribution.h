/**
 * How srun deals the ranks of a step out to its nodes. Pure.
 * Source: srun(1), --distribution; the variables of its tasks.
 */
#pragma once
#include <stdbool.h>

struct lib_distribution {
    const char *tasks_per_node; /* SLURM_STEP_TASKS_PER_NODE: "2(x3),1"; NULL unknown */
    /* SLURM_DISTRIBUTION: "block:cyclic"; what is before the colon is about nodes */
    const char *how;
    int plane; /* SLURM_DIST_PLANESIZE; -1 unknown */
    int node;  /* SLURM_NODEID; -1 unknown */
};

/* How many tasks this node has; -1 when that is not said. */
int lib_distribution_tasks(const struct lib_distribution *distribution);

/* The ranks of this node's tasks, by task; false when nothing says them (arbitrary), or the numbers
 * do not fit each other. */
bool lib_distribution_ranks(const struct lib_distribution *distribution, int world, int *ret_ranks,
                            int tasks);
