/**
 * What berth exec asks and gets: who this task is, what its step may use, and the plan for all of its tasks.
 */
#pragma once
#include "cmd.h"
#include "lib_merge.h"
#include "slurm_visible.h"

struct exec_plan {
    struct berth_launcher *said;   /* by the launcher's variables */
    struct berth_launcher who;     /* the same with what the options say instead; its pointers are said's */
    struct berth_step *step;       /* NULL before it is known */
    struct berth_binding *binding; /* NULL: none was asked for or given */
    struct lib_merge together;     /* the berths of the gpus that the launcher has bound the task to */
    struct slurm_visible visible;  /* the berth with its gpus counted as they are here */
    bool sees_all;                 /* each task sees all gpus of the step */
    const struct berth_task *task; /* this task's berth, of binding, together or visible; NULL none */
    unsigned parts;                /* of it that are to be taken; enum berth_part */
};

/* Fills who in, from the options and the launcher's variables; without either this is the only task. CMD_DONE, also when a launcher is there that does not say enough: then
 * who.task or who.tasks is -1, and who.missing says why. Else the exit status: the options are wrong, and the line has been printed. */
int exec_plan_who(struct cmd *cmd, struct exec_plan *plan);

/* Asks for the rest with cmd->berth, within timeout_ms in all; connects first. BERTH_DONE, also with task NULL: the launcher has bound all there is, or nothing of
 * the plan has the gpus that it gave. Else the error of the handle. *ret_usage: it is the command line that is wrong, and the line has been printed. */
int exec_plan_ask(struct cmd *cmd, struct exec_plan *plan, int timeout_ms, int *ret_usage);

void exec_plan_done(struct exec_plan *plan);
