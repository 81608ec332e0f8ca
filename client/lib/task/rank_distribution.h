/**
 * Distribution of a step's ranks over its nodes, as srun makes it. Pure.
 * Source: srun(1), --distribution; the variables of its tasks.
 */
#pragma once
#include <stdbool.h>

struct lib_distribution {
    const char *tasks_per_node; /* SLURM_STEP_TASKS_PER_NODE: "2(x3),1"; NULL unknown */
    /* SLURM_DISTRIBUTION: "block:cyclic"; the part before the colon is for nodes */
    const char *method;
    int plane; /* SLURM_DIST_PLANESIZE; -1 unknown */
    int node;  /* SLURM_NODEID; -1 unknown */
};

/* Number of tasks of this node; -1 unknown. */
int lib_distribution_tasks(const struct lib_distribution *distribution);

/* Ranks of this node's tasks, by task. False when no rule gives them (arbitrary), or the numbers
 * contradict each other. */
bool lib_distribution_ranks(const struct lib_distribution *distribution, int world, int *ret_ranks,
                            int tasks);
