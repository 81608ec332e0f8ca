/* berth exec: takes a berth and runs a command in it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/bind.h"
#include "cmd/cmd.h"
#include "lib/lib.h"
#include "lib/task/hwloc_file.h"
#include "lib/task/step_printer.h"
#include "lib/task/take_plan.h"
#include "lib/task/task.h"

#define TIMEOUT_S      2
#define TIMEOUT_S_MOST 3600

#define CANNOT_RUN 126 /* exit status in shells */
#define NO_COMMAND 127

static bool has(const struct cmd *cmd, int option)
{
    return cmd_has(cmd, &cmd_bind_options[option]);
}

/* Reads a count from an option; *number stays when the option is absent. */
static int read_count(const struct cmd *cmd, int option, long least, int *number)
{
    const char *text = cmd_value(cmd, &cmd_bind_options[option]);
    long given;
    if (text == NULL)
        return CMD_DONE;
    if (!lib_parse_count(text, least, CMD_TASKS_MOST, &given))
        return cmd_usage(cmd, "--%s takes a number from %ld to %ld, not %.40s",
                         cmd_bind_options[option].name, least, CMD_TASKS_MOST, text);
    *number = (int)given;
    return CMD_DONE;
}

/* Finds the task's number from the options and the launcher's variables. CMD_DONE also when a
 * number is missing. */
static int identify(struct cmd *cmd, struct lib_take *plan)
{
    int tasks = -1, task = -1, status = read_count(cmd, CMD_BIND_TASKS, 1, &tasks);
    if (status == CMD_DONE)
        status = read_count(cmd, CMD_EXEC_TASK, 0, &task);
    if (status != CMD_DONE)
        return status;
    if (lib_take_identify(plan, tasks, task) < 0)
        return cmd_fail_memory();
    const struct berth_launcher *who = &plan->launcher;
    if ((who->task < 0 || who->tasks < 0) && (tasks >= 0 || task >= 0))
        return cmd_usage(cmd,
                         "which task is this, and of how many? %s: give both -n TASKS and -t TASK",
                         who->missing);
    if (who->task >= who->tasks && who->tasks >= 0)
        return cmd_usage(cmd, "there is no task %d of %d: they count from 0", who->task,
                         who->tasks);
    return CMD_DONE;
}

/* Names of --gpus as texts borrowed from the array. NULL when out of memory. */
static const char **list_texts(const json_t *array)
{
    const char **item = calloc(json_array_size(array) + 1, sizeof *item);
    for (size_t i = 0; item != NULL && i < json_array_size(array); i++)
        item[i] = json_string_value(json_array_get(array, i));
    return item;
}

/* Reads --gpus as an array; NULL when it is absent. */
static int read_gpus(struct cmd *cmd, json_t **ret_array)
{
    const char *gpus = cmd_value(cmd, &cmd_bind_options[CMD_BIND_GPUS]);
    *ret_array = NULL;
    return gpus != NULL ? cmd_parse_gpus(cmd, gpus, ret_array) : CMD_DONE;
}

/* Finds the step's resources; needs a connection. *ret_usage: exit status of invalid options, else
 * CMD_DONE. */
static int find_step(struct cmd *cmd, struct lib_take *plan, int *ret_usage)
{
    struct berth_allowed given = {.cpus = cmd_value(cmd, &cmd_bind_options[CMD_BIND_CPUS])};
    json_t *array = NULL;
    int status = BERTH_ERROR_BAD_ARGUMENT;
    *ret_usage = cmd_check_cpus(cmd, given.cpus);
    if (*ret_usage == CMD_DONE)
        *ret_usage = read_gpus(cmd, &array);
    if (*ret_usage == CMD_DONE && array != NULL) {
        given.gpus =
            (struct berth_texts){.item = list_texts(array), .count = json_array_size(array)};
        *ret_usage = given.gpus.item != NULL ? CMD_DONE : cmd_fail_memory();
    }
    if (*ret_usage == CMD_DONE)
        *ret_usage = cmd_check_cpus_there(cmd, given.cpus);
    if (*ret_usage == CMD_DONE)
        status = lib_take_step(plan, &given);
    free((void *)given.gpus.item);
    json_decref(array);
    return status;
}

static int ask(struct cmd *cmd, struct lib_take *plan, int *ret_usage)
{
    json_t *options = json_object();
    int status = BERTH_ERROR_BAD_ARGUMENT;
    *ret_usage = options == NULL ? cmd_fail_memory() : cmd_bind_request(cmd, options);
    if (*ret_usage == CMD_DONE)
        status = lib_take_ask(plan, options, cmd_value(cmd, &cmd_bind_options[CMD_BIND_KEY]));
    json_decref(options);
    return status;
}

/* Fills the plan. *ret_usage as in find_step. */
static int plan_all(struct cmd *cmd, struct lib_take *plan, int timeout_ms, int *ret_usage)
{
    int status = lib_take_connect(plan, cmd_value(cmd, &cmd_globals[CMD_SOCKET]), timeout_ms);
    if (status == BERTH_DONE)
        status = find_step(cmd, plan, ret_usage);
    return status < 0 || lib_take_is_bound(plan) ? status : ask(cmd, plan, ret_usage);
}

static int read_timeout(const struct cmd *cmd, int *ret_ms)
{
    const char *text = cmd_value(cmd, &cmd_bind_options[CMD_EXEC_TIMEOUT]);
    long seconds = TIMEOUT_S;
    if (text != NULL && !lib_parse_count(text, 1, TIMEOUT_S_MOST, &seconds))
        return cmd_usage(cmd, "--timeout takes seconds from 1 to %d, not %.40s", TIMEOUT_S_MOST,
                         text);
    *ret_ms = (int)seconds * 1000;
    return CMD_DONE;
}

/* True when a launcher may have started other tasks beside this one. A task started by hand prints
 * every message at every start. */
static bool has_others(const struct lib_take *plan)
{
    return plan->reported->name != NULL && plan->launcher.tasks != 1;
}

static enum lib_step_printer printer_of(const struct lib_take *plan, const char *line)
{
    const char *name = lib_launcher_rank_name(plan->reported);
    return lib_step_printer("/dev/shm", name, name != NULL ? getenv(name) : NULL,
                            plan->reported->key, line);
}

/* True when this task prints a message that other tasks may print too. */
static bool prints(const struct lib_take *plan, const char *line)
{
    return !has_others(plan) || printer_of(plan, line) != LIB_PRINTER_OTHER;
}

/* Handles a command without a berth. With --strict it does not run. Otherwise it runs, and one task
 * prints a warning for all tasks here; with --verbose each does. */
static int without(const struct cmd *cmd, const struct lib_take *plan, int exit_status,
                   const char *why)
{
    char line[1200];
    if (has(cmd, CMD_EXEC_STRICT))
        return cmd_fail(exit_status, "%s: %.80s is not run (--strict)", why, cmd->operand[0]);
    snprintf(line, sizeof line, "%s: %.80s runs without a berth", why, cmd->operand[0]);
    const enum lib_step_printer printer = has(cmd, CMD_EXEC_VERBOSE) || !has_others(plan)
                                              ? LIB_PRINTER_UNKNOWN
                                              : printer_of(plan, line);
    if (printer != LIB_PRINTER_OTHER)
        cmd_warn("%s%s", line,
                 printer == LIB_PRINTER_SELF ? " (said once for all tasks here of which it is true)"
                                             : "");
    return CMD_DONE;
}

/* A daemon that is missing, hangs or goes away gives one exit status. */
static int without_answer(struct cmd *cmd, const struct lib_take *plan, int status)
{
    bool is_gone = status == BERTH_ERROR_NO_DAEMON || status == BERTH_ERROR_TIMED_OUT ||
                   status == BERTH_ERROR_CLOSED || status == BERTH_ERROR_SYSTEM;
    if (status == BERTH_ERROR_OUT_OF_MEMORY)
        return cmd_fail_memory();
    if (status == BERTH_ERROR_INVALID_PARAMETER)
        return cmd_fail_daemon(cmd, status);
    int exit_status = is_gone ? CMD_NO_DAEMON : cmd_daemon_exit(cmd, status);
    char why[1024];
    cmd_closed_explain_error(cmd, status, why, sizeof why);
    return without(cmd, plan, exit_status, why);
}

static void join(char *text, size_t size, const struct berth_texts *texts)
{
    size_t used = 0;
    snprintf(text, size, "none");
    for (size_t i = 0; i < texts->count && used < size; i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? "," : "", texts->item[i]);
}

/* Prints the bindings once for all tasks, from the first one; from each with --verbose. */
static void print_bound(const struct cmd *cmd, const struct lib_take *plan)
{
    const struct berth_step *step = plan->step;
    char gpus[128];
    if ((!step->cpus_bound && !step->gpus_bound) ||
        (plan->launcher.task > 0 && !has(cmd, CMD_EXEC_VERBOSE)))
        return;
    join(gpus, sizeof gpus, &step->gpus);
    cmd_note("%s has bound its tasks, and that stays: task %d to %s%.120s%s%s%s",
             plan->launcher.name != NULL ? plan->launcher.name : "what started this",
             plan->launcher.task, step->cpus_bound ? "cpus " : "",
             step->cpus_bound ? step->cpus : "",
             step->cpus_bound && step->gpus_bound ? " and " : "", step->gpus_bound ? "gpus " : "",
             step->gpus_bound ? gpus : "");
}

static void print_berth(struct cmd *cmd, const struct lib_take *plan)
{
    char gpus[128], memory[128], warning[1024];
    if (!has(cmd, CMD_EXEC_VERBOSE))
        return;
    for (size_t i = 0; i < plan->binding->warnings.count; i++) {
        const struct berth_reason *reason = &plan->binding->warnings.item[i];
        if (strcmp(reason->code, "srun-part-of-node") == 0)
            continue; /* for berth bind --format slurm; irrelevant here */
        if (strcmp(reason->code, CMD_CLOSED_CODE) == 0)
            cmd_closed_explain(cmd, reason->text, warning, sizeof warning);
        else
            snprintf(warning, sizeof warning, "%s", reason->text);
        if (prints(plan, warning)) /* warnings belong to the plan of all tasks */
            cmd_warn("%s", warning);
    }
    join(gpus, sizeof gpus, &plan->task->gpus);
    join(memory, sizeof memory, &plan->task->memory);
    cmd_note("task %d of %d: cpus %.120s, memory %s, gpus %s", plan->launcher.task,
             plan->launcher.tasks,
             plan->parts & BERTH_PART_CPUS ? plan->task->cpus : plan->step->cpus,
             plan->parts & BERTH_PART_MEMORY ? memory : "as it was",
             plan->parts & BERTH_PART_GPUS ? gpus : "as they were");
}

/* Takes the berth. CMD_DONE: the command may run, in its berth or without one. */
static int take(struct cmd *cmd, struct lib_take *plan, int timeout_ms)
{
    if (plan->launcher.task < 0 || plan->launcher.tasks < 0)
        return without(cmd, plan, CMD_USAGE, plan->launcher.missing);
    int usage = CMD_DONE, status = plan_all(cmd, plan, timeout_ms, &usage);
    if (usage != CMD_DONE)
        return usage;
    if (status < 0)
        return without_answer(cmd, plan, status);
    print_bound(cmd, plan);
    if (plan->binding == NULL)
        return CMD_DONE;
    if (plan->task == NULL)
        return without(cmd, plan, CMD_DATA,
                       "no berth of the plan has just the gpus that this task was given");
    status = berth_apply(cmd->berth, plan->task, plan->parts);
    if (status < 0)
        return without(cmd, plan, CMD_SYSTEM, berth_error_detail(cmd->berth));
    print_berth(cmd, plan);
    return CMD_DONE;
}

/* Has hwloc load the daemon's file. Without memory for that it discovers the node itself. */
static void share_topology(const struct cmd *cmd)
{
    struct lib_hwloc hwloc;
    if (!lib_hwloc_find(cmd_value(cmd, &cmd_globals[CMD_SOCKET]), NULL, NULL, &hwloc))
        return;
    for (int i = 0; i < LIB_HWLOC_VARIABLES; i++)
        if (setenv(hwloc.variable[i].name, hwloc.variable[i].value, 0) != 0)
            return;
}

static int run_command(const struct cmd *cmd)
{
    share_topology(cmd);
    execvp(cmd->operand[0], (char *const *)(const void *)cmd->operand);
    int number = errno;
    /* the file exists: then ENOENT means that its interpreter is missing */
    bool is_there = strchr(cmd->operand[0], '/') != NULL && access(cmd->operand[0], F_OK) == 0;
    return cmd_fail(number == ENOENT && !is_there ? NO_COMMAND : CANNOT_RUN,
                    "cannot run %.200s: %s", cmd->operand[0], strerror(number));
}

static int run(struct cmd *cmd)
{
    struct lib_take plan = {0};
    int timeout_ms = 0;
    if (cmd->operand_count == 0)
        return cmd_usage(cmd, "which command? berth exec [options] -- COMMAND");
    if (cmd_has(cmd, &cmd_globals[CMD_NODE]) || cmd_wants_json(cmd))
        return cmd_usage(cmd, "the berth is taken on this machine, and the command alone prints: "
                              "no --node, no --json (berth bind has both)");
    int status = read_timeout(cmd, &timeout_ms);
    if (status != CMD_DONE)
        return status;
    cmd->berth = berth_new();
    if (cmd->berth == NULL)
        return cmd_fail_memory();
    plan.berth = cmd->berth;
    status = identify(cmd, &plan);
    if (status == CMD_DONE)
        status = take(cmd, &plan, timeout_ms);
    lib_take_done(&plan);
    return status == CMD_DONE ? run_command(cmd) : status;
}

const struct cmd_command cmd_exec = {
    .name = "exec",
    .operands = "[--] COMMAND...",
    .about = "run COMMAND in this task's berth: affinity, memory, environment",
    .options = cmd_bind_options + CMD_BIND_TASKS,
    .option_count = CMD_EXEC_OPTIONS - CMD_BIND_TASKS,
    .most_operands = SIZE_MAX,
    .takes_command = true,
    .run = run,
    .notes = {"torchrun --nproc-per-node 8 --no-python berth exec python3 train.py; mpiexec -n 8 "
              "berth exec ./app; srun -n 8 --cpu-bind=none --gpu-bind=none berth exec --pattern "
              "ring --bytes 64M ./app",
              "Which task of how many this is comes from -n and -t, else from the variables of "
              "torchrun, Slurm, MPICH, Open MPI, jsrun, PALS or Flux; without any it is the only "
              "one. All tasks of a step get their berths from one plan (under the step's key, or "
              "--key); "
              "what the launcher has bound already stays, and the first task says so. In a job of "
              "Slurm's all gpus of the job are shared out (-g: so many each); without one each "
              "task has one.",
              "Without an answer within the time COMMAND runs as it is, with one warning for all "
              "tasks here that have the same; with --strict it does not, and the exit status is "
              "69. Else that is COMMAND's; 126 it cannot be run, 127 it is not there. hwloc in "
              "COMMAND loads the topology that berthd keeps, unless a variable of its is set."},
};
