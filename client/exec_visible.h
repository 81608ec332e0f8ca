/**
 * The variables that show a task its gpus, where a plan leaves them out: AMD gpus without a UUID are named by numbers, and which ones count the daemon cannot see from where it is.
 */
#pragma once
#include "berth.h"
#include "slurm_visible.h"

struct exec_visible {
    struct berth_task task; /* its texts are the plan's and this one's */
    struct berth_pair *pairs;
    const char **unset;
    char value[1024];
};

/* Whether the berth has gpus, and no variable that shows them. */
bool exec_visible_lacks(const struct berth_task *task);

/* The berth with them, as this process's runtime counts: ROCR_VISIBLE_DEVICES set, what would narrow it further unset. others: what the task is to see beside its own gpus; NULL
 * nothing. False when that cannot be told, or memory is short: ret is then untouched. The caller ends it with exec_visible_done, before the plan. */
bool exec_visible_make(const json_t *node, const struct slurm_visible_job *job, const struct berth_task *task, const struct berth_texts *others, struct exec_visible *ret);
void exec_visible_done(struct exec_visible *visible); /* one of zeros is fine */
