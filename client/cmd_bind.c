#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "cmd_bind.h"
#include "ui_answer.h"

enum { TASKS, GPUS_EACH, CORES, THREADS, SHARE, PATTERN, BYTES, FLOW, FLOWS, HOST_BYTES, RANKS, WORLD, CPUS, GPUS, VISIBLE, ORDER, MECHANISM, KEY, FORMAT, TASK, OPTIONS };

static const char *const patterns[] = {"none", "pairs", "ring", "grid2d", "grid3d", "alltoall", "allreduce", NULL};
static const char *const visibles[] = {"own", "all", NULL};
static const char *const orders[] = {"free", "rank", NULL};
static const char *const mechanisms[] = {"best", "copy_engine", "kernel", NULL};
static const char *const formats[] = {"table", "env", "slurm", "rankfile", "numactl", "omp_places", NULL};

static const struct cmd_option options[] = {
    [TASKS] = {.letter = 'n', .name = "tasks", .value = "TASKS", .help = "tasks on this node"},
    [GPUS_EACH] = {.letter = 'g', .name = "gpus-per-task", .value = "GPUS", .help = "gpus of each task; default 1 where there are any"},
    [CORES] = {.letter = 'c', .name = "cores-per-task", .value = "CORES", .help = "whole cores of each task; default an even share of those next to its gpus"},
    [THREADS] = {.name = "threads-per-core", .value = "THREADS", .help = "hardware threads used of each core; default all allowed ones"},
    [SHARE] = {.name = "tasks-per-gpu", .value = "TASKS", .help = "how many tasks may share a gpu where there are fewer gpus than tasks; default 1"},
    [PATTERN] = {.name = "pattern", .value = "PATTERN", .help = "traffic between tasks", .choices = patterns},
    [BYTES] = {.name = "bytes", .value = "SIZE", .help = "bytes of each flow of the pattern"},
    [FLOW] = {.name = "flow", .value = "FROM:TO:SIZE", .help = "bytes from one rank to another in a step, for example 0:1:64M; may be repeated"},
    [FLOWS] = {.name = "flows", .value = "FILE", .help = "such flows from a file, one a line, - for standard input; # begins a comment"},
    [RANKS] = {.name = "ranks", .value = "LIST", .help = "the ranks of these tasks in the job, for example 8-11; default 0 and up"},
    [WORLD] = {.name = "world", .value = "RANKS", .help = "how many ranks the job has on all nodes; default as many as tasks"},
    [HOST_BYTES] = {.name = "host-bytes", .value = "SIZE", .help = "bytes that each task moves to, and again from, host memory in a step"},
    [CPUS] = {.name = "cpus", .value = "LIST", .help = "use only these cpus, for example 1-7,9-15; default those this command may run on"},
    [GPUS] = {.name = "gpus", .value = "LIST", .help = "use only these gpus, for example 0-3; default those this command may open"},
    [VISIBLE] = {.name = "visible", .value = "VISIBLE", .help = "each task sees its own gpus only, or all with its own first", .choices = visibles},
    [ORDER] = {.name = "order", .value = "ORDER", .help = "gpus as is best, or in ascending order of task", .choices = orders},
    [MECHANISM] = {.name = "mechanism", .value = "MECHANISM", .help = "how gpus copy to each other", .choices = mechanisms},
    [KEY] = {.name = "key", .value = "KEY", .help = "with a claim under this key (berth claim), the first plan stands until it is released"},
    [FORMAT] = {.name = "format", .value = "FORMAT", .help = "a table, env for a shell to evaluate, or for a launcher", .choices = formats},
    [TASK] = {.letter = 't', .name = "task", .value = "TASK", .help = "the task that --format env is for, from 0"},
};

static int make_request(struct cmd *cmd, json_t *request)
{
    if (!cmd_has(cmd, &options[TASKS]))
        return cmd_usage(cmd, "how many tasks? -n TASKS");
    const char *pattern = cmd_value(cmd, &options[PATTERN]);
    if (cmd_has(cmd, &options[BYTES]) && (pattern == NULL || strcmp(pattern, "none") == 0))
        return cmd_usage(cmd, "--bytes is what each flow of a --pattern carries, and none is given");
    int status = cmd_set_count(cmd, request, "tasks", &options[TASKS], 1, 1 << 20);
    if (status == CMD_DONE)
        status = cmd_set_count(cmd, request, "gpus_per_task", &options[GPUS_EACH], 0, 1 << 20);
    if (status == CMD_DONE)
        status = cmd_set_count(cmd, request, "cores_per_task", &options[CORES], 1, 1 << 20);
    if (status == CMD_DONE)
        status = cmd_set_count(cmd, request, "threads_per_core", &options[THREADS], 1, 1 << 20);
    if (status == CMD_DONE)
        status = cmd_set_count(cmd, request, "tasks_per_gpu", &options[SHARE], 1, 1 << 20);
    if (status == CMD_DONE)
        status = cmd_set_text(cmd, request, "pattern", &options[PATTERN]);
    if (status == CMD_DONE)
        status = cmd_set_size(cmd, request, "bytes", &options[BYTES]);
    if (status == CMD_DONE)
        status = cmd_bind_set_flows(cmd, request, &options[FLOW], &options[FLOWS]);
    if (status == CMD_DONE)
        status = cmd_bind_set_ranks(cmd, request, &options[RANKS]);
    if (status == CMD_DONE)
        status = cmd_set_count(cmd, request, "world", &options[WORLD], 1, INT32_MAX);
    if (status == CMD_DONE)
        status = cmd_set_size(cmd, request, "host_bytes", &options[HOST_BYTES]);
    if (status == CMD_DONE)
        status = cmd_set_text(cmd, request, "visible", &options[VISIBLE]);
    if (status == CMD_DONE)
        status = cmd_set_text(cmd, request, "order", &options[ORDER]);
    if (status == CMD_DONE)
        status = cmd_set_text(cmd, request, "mechanism", &options[MECHANISM]);
    if (status == CMD_DONE)
        status = cmd_set_text(cmd, request, "key", &options[KEY]);
    if (status == CMD_DONE)
        status = cmd_set_allowed(cmd, request, true, cmd_value(cmd, &options[CPUS]), cmd_value(cmd, &options[GPUS]));
    return status;
}

/* A comment for whoever wonders why no variable says which gpus the task sees. */
static void put_unset(struct ui *ui, const json_t *reply, const json_t *task)
{
    const json_t *environment = json_object_get(task, "environment"), *warning;
    size_t i;
    if (json_array_size(json_object_get(task, "gpus")) == 0) {
        ui_put(ui, "# task %lld has no gpus: no variable is to be set\n", (long long)json_integer_value(json_object_get(task, "task")));
        return;
    }
    if (json_object_get(environment, "ROCR_VISIBLE_DEVICES") != NULL || json_object_get(environment, "CUDA_VISIBLE_DEVICES") != NULL)
        return;
    ui_put(ui, "# no variable would surely show the right gpus\n");
    json_array_foreach(json_object_get(reply, "warnings"), i, warning)
    {
        if (json_is_string(warning) && strstr(json_string_value(warning), "not set for tasks") != NULL) {
            ui_put(ui, "# ");
            ui_text(ui, json_string_value(warning));
            ui_put(ui, "\n");
        }
    }
}

static int print_environment(struct cmd *cmd, const json_t *reply)
{
    const json_t *tasks = json_object_get(reply, "tasks");
    const char *text = cmd_value(cmd, &options[TASK]);
    long most = (long)json_array_size(tasks) - 1, task = 0;
    if (text == NULL && most > 0)
        return cmd_usage(cmd, "--format env is for one task: --task 0 to %ld", most);
    if (text != NULL && !cmd_parse_count(text, 0, most, &task))
        return cmd_usage(cmd, "--task takes a number from 0 to %ld, not %.40s", most, text);
    struct ui ui = {0};
    const json_t *its = json_array_get(tasks, (size_t)task);
    put_unset(&ui, reply, its);
    if (!ui_bind_environment(&ui, its)) {
        ui_done(&ui);
        return cmd_fail(CMD_BUG, "the daemon sent a variable that no shell has");
    }
    return cmd_print(&ui);
}

/* Why there are no words for this launcher; "" where nothing says it. */
static const char *why_not(const json_t *reply, const char *format)
{
    static const char srun[] = "no options for srun: ";
    const json_t *warning;
    size_t i;
    json_array_foreach(json_object_get(reply, "warnings"), i, warning)
    {
        const char *text = json_string_value(warning);
        if (strcmp(format, "slurm") == 0 && text != NULL && strncmp(text, srun, sizeof srun - 1) == 0)
            return text + sizeof srun - 1;
    }
    return "";
}

/* The launcher's own words, line by line. */
static int print_launcher(const json_t *reply, const char *format)
{
    const json_t *launcher = json_object_get(reply, "launcher");
    const char *text = json_string_value(json_object_get(launcher, format));
    if (text == NULL) {
        const char *why = why_not(reply, format);
        return cmd_fail(CMD_DATA, "no options for %.40s would be right here%s%s", format, *why == '\0' ? "" : ": ", why);
    }
    struct ui ui = {0};
    char *copy = strdup(text), *rest = copy, *line;
    if (copy == NULL)
        return cmd_fail_memory();
    while ((line = strsep(&rest, "\n")) != NULL) {
        if (*line == '\0' && rest == NULL)
            break;
        ui_text(&ui, line);
        ui_put(&ui, "\n");
    }
    free(copy);
    return cmd_print(&ui);
}

static int run(struct cmd *cmd)
{
    const char *format = cmd_value(cmd, &options[FORMAT]);
    if (format == NULL)
        format = "table";
    json_t *reply;
    int status = cmd_ask_filled(cmd, "io.berth.Placement.Bind", make_request, &reply);
    if (status != CMD_DONE)
        return status;
    if (cmd_wants_json(cmd) || strcmp(format, "table") == 0)
        status = cmd_show(cmd, reply, ui_bind);
    else if (strcmp(format, "env") == 0)
        status = print_environment(cmd, reply);
    else
        status = print_launcher(reply, format);
    json_decref(reply);
    return status;
}

const struct cmd_command cmd_bind = {
    .name = "bind",
    .operands = "-n TASKS",
    .about = "the best berths for the tasks of a job: gpus, cores, memory, nics",
    .options = options,
    .option_count = OPTIONS,
    .run = run,
    .notes = {"Sizes take K M G T (powers of 1024) and KB MB GB TB (powers of 1000).",
              "eval \"$(berth bind -n 4 --format env --task 0)\" sets the variables of task 0.",
              "berth bind -n 2 --ranks 4-5 --world 8 --pattern ring --bytes 64M is for two of eight ranks; what goes to the others leaves through a nic."},
};
