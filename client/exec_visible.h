/**
 * The berth of a task with the numbers of gpus as its runtime counts them: in a job or container that may open some of a node's gpus, these alone count.
 */
#pragma once
#include "cmd.h"

struct exec_visible {
    struct berth_task task; /* its texts are the plan's and this one's */
    struct berth_pair *pairs;
    char value[1024];
};

/* Asks the daemon for the node where the berth has numbers. BERTH_DONE with ret->pairs NULL: the berth stays as it is. A value that cannot be told is left out, so that the
 * launcher's stays. Else the error of the handle. The caller ends it with exec_visible_done. */
int exec_visible(struct cmd *cmd, const struct berth_step *step, const struct berth_task *task, struct exec_visible *ret);
void exec_visible_done(struct exec_visible *visible); /* one of zeros is fine */
