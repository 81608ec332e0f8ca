/* berth slurm: the commands of Slurm's hooks in etc/slurm. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "cmd/cmd.h"
#include "slurm/call.h"
#include "slurm/hooks.h"
#include "slurm/job.h"

/* limit of a prolog, epilog or task prolog; a job may notice 100 ms, including the start of the
 * command */
#define JOB_MS    50
#define HEALTH_MS 5000

enum { GRES_CONF, RESUME, STATE, OPTIONS };

static const struct cmd_option options[] = {
    [GRES_CONF] = {.name = "gres-conf",
                   .value = "FILE",
                   .help = "Slurm's gres.conf, where it is not beside its configuration"},
    [RESUME] =
        {.name = "resume",
         .value = "N",
         .help =
             "health: resume what berth has drained after so many clean checks; without it, never"},
    [STATE] = {.name = "state",
               .value = "FILE",
               .help = "health: where clean checks are counted (/run/berth-slurm-health)"},
};

/* Logs an invalid command line, and prints it for a person. Slurm drains a node whose prolog or
 * epilog fails, and the scripts' standard error has no reader. */
static void log_misuse(const char *line)
{
    char clean[512];
    ui_clean(clean, sizeof clean, line);
    slurm_call_report(&(struct slurm_call){.is_quiet = true}, LOG_WARNING,
                      "the hook has done nothing: berth slurm: %s", clean);
    cmd_note("slurm: the hook has done nothing: %s", clean);
}

static void run_job(struct cmd *cmd, bool begins)
{
    struct slurm_call call;
    if (slurm_call_init(&call, cmd_value(cmd, &cmd_globals[CMD_SOCKET]), JOB_MS) != BERTH_DONE)
        slurm_call_log(LOG_WARNING, "job %.20s: nothing is %s: %s",
                       getenv("SLURM_JOB_ID") != NULL ? getenv("SLURM_JOB_ID") : "",
                       begins ? "claimed" : "released", slurm_call_why(&call));
    else if (begins)
        slurm_job_begin(&call, cmd_value(cmd, &options[GRES_CONF]));
    else
        slurm_job_end(&call);
    slurm_call_done(&call);
}

static int run_health(struct cmd *cmd)
{
    const char *node = getenv("SLURMD_NODENAME"), *resume = cmd_value(cmd, &options[RESUME]),
               *state = cmd_value(cmd, &options[STATE]);
    struct slurm_health health = {.node = node,
                                  .state = state != NULL ? state : "/run/berth-slurm-health"};
    struct slurm_call call;
    if (resume != NULL && !lib_parse_count(resume, 1, 1000000, &health.resume_after))
        return cmd_usage(cmd, "--resume takes a number of checks, not %.40s", resume);
    if (node == NULL)
        return cmd_usage(cmd,
                         "SLURMD_NODENAME, which slurmd sets for its health check, names no node");
    if (slurm_call_init(&call, cmd_value(cmd, &cmd_globals[CMD_SOCKET]), HEALTH_MS) != BERTH_DONE)
        slurm_call_log(LOG_WARNING, "the node's health is not known: %s", slurm_call_why(&call));
    else
        slurm_health_check(&call, &health);
    slurm_call_done(&call);
    slurm_job_release_ended(cmd_value(cmd, &cmd_globals[CMD_SOCKET]), HEALTH_MS, node);
    return CMD_DONE;
}

static int run(struct cmd *cmd)
{
    const char *hook = cmd->operand_count > 0 ? cmd->operand[0] : "";
    if (cmd_has(cmd, &cmd_globals[CMD_NODE]))
        return cmd_usage(cmd, "a hook is about this machine, not about a recorded node");
    if (strcmp(hook, "health") == 0)
        return run_health(cmd);
    if (strcmp(hook, "task") == 0) {
        slurm_task_print(cmd_value(cmd, &cmd_globals[CMD_SOCKET]), JOB_MS,
                         cmd_value(cmd, &options[GRES_CONF]), stdout);
        return CMD_DONE;
    }
    if (strcmp(hook, "prolog") != 0 && strcmp(hook, "epilog") != 0)
        return cmd_usage(cmd, "which hook? prolog, epilog, task or health");
    run_job(cmd, *hook == 'p');
    return CMD_DONE;
}

static const char *const whens[] = {"prolog", "epilog", "task", "health", NULL};

const struct cmd_command cmd_slurm = {
    .name = "slurm",
    .operands = "prolog | epilog | task | health",
    .about = "what Slurm's hooks run: claim, release, print variables, drain",
    .options = options,
    .option_count = OPTIONS,
    .most_operands = 1,
    .first = whens,
    .run = run,
    .on_misuse = log_misuse,
    .notes =
        {"The hooks get what they need from the variables that Slurm sets for them. What cannot be "
         "done, wrong words too, is one line in the system's log, and the exit status is 0: "
         "a hook that fails would drain the node. A daemon that hangs costs a job 50 ms.",
         "task prints \"export NAME=value\" and \"unset NAME\", as Slurm's TaskProlog is to, for "
         "the gpus of the task that SLURM_LOCALID names among those of its step."},
};
