/**
 * What berth exec asks and gets: who this task is, what its step may use, and the plan for all of its tasks.
 */
#pragma once
#include "cmd.h"

struct exec_plan {
    struct berth_launcher *said;   /* by the launcher's variables */
    struct berth_launcher who;     /* the same with what the options say instead; its pointers are said's */
    struct berth_step *step;       /* NULL before it is known */
    struct berth_binding *binding; /* NULL: none was asked for or given */
    const struct berth_task *task; /* this task's berth, of binding; NULL none */
    unsigned parts;                /* of it that are to be taken; enum berth_part */
};

/* Fills who in, from the options and the launcher's variables. CMD_DONE, or the exit status when neither says who this is, or they contradict
 * each other; the line has been printed. */
int exec_plan_who(struct cmd *cmd, struct exec_plan *plan);

/* Asks for the rest with cmd->berth, within timeout_ms in all; connects first. BERTH_DONE, also with task NULL: the launcher has bound all there is, or nothing of
 * the plan has the gpus that it gave. Else the error of the handle. *ret_usage: it is the command line that is wrong, and the line has been printed. */
int exec_plan_ask(struct cmd *cmd, struct exec_plan *plan, int timeout_ms, int *ret_usage);

void exec_plan_done(struct exec_plan *plan);
