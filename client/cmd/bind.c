#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/bind.h"
#include "cmd/cmd.h"
#include "lib/lib.h"
#include "ui/answer.h"

#define OPTION(name) (&cmd_bind_options[CMD_BIND_##name])

/* Sets the key: within a job its claim by default; a recorded node has none. */
static int set_key(struct cmd *cmd, json_t *request)
{
    char buffer[LIB_KEY_SIZE];
    const char *key = cmd_has(cmd, &cmd_globals[CMD_NODE]) ? NULL : lib_key_default(buffer);
    if (cmd_has(cmd, OPTION(KEY)) || key == NULL)
        return cmd_set_text(cmd, request, "key", OPTION(KEY));
    return json_object_set_new(request, "key", json_string(key)) == 0 ? CMD_DONE
                                                                      : cmd_fail_memory();
}

static int make_request(struct cmd *cmd, json_t *request)
{
    if (!cmd_has(cmd, OPTION(TASKS)))
        return cmd_usage(cmd, "how many tasks? -n TASKS");
    int status = cmd_set_count(cmd, request, "tasks", OPTION(TASKS), 1, CMD_TASKS_MOST);
    if (status == CMD_DONE)
        status = cmd_bind_request(cmd, request);
    if (status == CMD_DONE)
        status = set_key(cmd, request);
    if (status == CMD_DONE)
        status = cmd_set_allowed(cmd, request, true, cmd_value(cmd, OPTION(CPUS)),
                                 cmd_value(cmd, OPTION(GPUS)));
    return status;
}

/* Prints the warnings with a code as comments. */
static void put_comments(struct ui *ui, const json_t *reply, const char *code)
{
    const json_t *warning;
    size_t i;
    json_array_foreach(json_object_get(reply, "warnings"), i, warning)
    {
        if (!ui_reason_is(warning, code))
            continue;
        ui_put(ui, "# ");
        ui_text(ui, ui_reason_text(warning));
        ui_put(ui, "\n");
    }
}

/* Prints a comment that explains the lack of a variable for the visible gpus. */
static void put_unset(struct ui *ui, const json_t *reply, const json_t *task)
{
    const json_t *environment = json_object_get(task, "environment");
    if (json_array_size(json_object_get(task, "gpus")) == 0) {
        ui_put(ui, "# task %lld has no gpus: no variable says which it sees\n",
               (long long)json_integer_value(json_object_get(task, "task")));
        return;
    }
    if (json_object_get(environment, "ROCR_VISIBLE_DEVICES") != NULL ||
        json_object_get(environment, "CUDA_VISIBLE_DEVICES") != NULL)
        return;
    ui_put(ui, "# no variable would surely show the right gpus\n");
    put_comments(ui, reply, "visible-unset");
}

/* Prints a comment that explains why UCX_NET_DEVICES does not choose the task's nics. Cray MPICH
 * has a variable for all ranks of a job. */
static void put_nics(struct ui *ui, const json_t *reply, const json_t *task)
{
    const json_t *nics = json_object_get(task, "nics"), *nic;
    const char *cray =
        json_string_value(json_object_get(json_object_get(reply, "launcher"), "cray_mpich"));
    size_t i;
    if (json_array_size(nics) == 0 ||
        json_object_get(json_object_get(task, "environment"), "UCX_NET_DEVICES") != NULL)
        return;
    ui_put(ui, "# UCX_NET_DEVICES would not surely choose the task's own nics:");
    json_array_foreach(nics, i, nic)
    {
        ui_put(ui, "%s ", i > 0 ? "," : "");
        ui_text(ui, json_is_string(nic) ? json_string_value(nic) : "?");
    }
    ui_put(ui, "\n");
    put_comments(ui, reply, "nic-no-port");
    if (cray != NULL) {
        ui_put(ui, "# for all ranks of a job with Cray MPICH: ");
        ui_text(ui, cray);
        ui_put(ui, "\n");
    }
}

static int print_environment(struct cmd *cmd, const json_t *reply)
{
    const json_t *tasks = json_object_get(reply, "tasks");
    const char *text = cmd_value(cmd, OPTION(TASK));
    long most = (long)json_array_size(tasks) - 1, task = 0;
    if (text == NULL && most > 0)
        return cmd_usage(cmd, "--format env is for one task: --task 0 to %ld", most);
    if (text != NULL && !lib_parse_count(text, 0, most, &task))
        return cmd_usage(cmd, "--task takes a number from 0 to %ld, not %.40s", most, text);
    struct ui ui = {0};
    const json_t *its = json_array_get(tasks, (size_t)task);
    put_unset(&ui, reply, its);
    put_nics(&ui, reply, its);
    if (!ui_bind_environment(&ui, its)) {
        ui_done(&ui);
        return cmd_fail(CMD_BUG, "the daemon sent a variable that no shell has");
    }
    return cmd_print(&ui);
}

/* Fails with the reason of missing options for this launcher, if one is given. */
static int fail_without(const json_t *reply, const char *format)
{
    const json_t *warning;
    size_t i;
    json_array_foreach(json_object_get(reply, "warnings"), i, warning)
    {
        if (strcmp(format, "slurm") == 0 && ui_reason_is(warning, "srun-part-of-node"))
            return cmd_fail(CMD_DATA, "%s", ui_reason_text(warning));
    }
    return cmd_fail(CMD_DATA, "no options for %.40s would be right here", format);
}

/* Prints the launcher's options, line by line. */
static int print_launcher(const json_t *reply, const char *format)
{
    const json_t *launcher = json_object_get(reply, "launcher");
    const char *text = json_string_value(json_object_get(launcher, format));
    if (text == NULL)
        return fail_without(reply, format);
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

/* Draws the placement on the node. */
static int draw(struct cmd *cmd, const char *path, const json_t *plan)
{
    json_t *node;
    int status = cmd_ask_node(cmd, &node);
    if (status != CMD_DONE)
        return status;
    status = cmd_file_report(cmd, path, cmd_picture(path, node, plan));
    json_decref(node);
    return status;
}

static int run(struct cmd *cmd)
{
    const char *output = cmd_value(cmd, OPTION(OUTPUT)), *format = cmd_value(cmd, OPTION(FORMAT));
    if (format == NULL)
        format = "table";
    if (cmd_has(cmd, OPTION(TASK)) && strcmp(format, "env") != 0)
        return cmd_usage(cmd, "--task goes with --format env");
    if (output != NULL && !cmd_is_picture(output))
        return cmd_usage(cmd, "-o takes a file that ends with .svg, .png or .pdf, or -, not %.60s",
                         output);
    json_t *reply;
    int status = cmd_ask_filled(cmd, "io.berth.Placement.Bind", make_request, &reply);
    if (status != CMD_DONE)
        return status;
    if (!cmd_wants_json(cmd))
        cmd_closed_explain_all(cmd, reply);
    if (output != NULL)
        status = draw(cmd, output, reply);
    else if (cmd_wants_json(cmd) || strcmp(format, "table") == 0)
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
    .about = "the best gpus, cores, memory and nics for the tasks of a job",
    .options = cmd_bind_options,
    .option_count = CMD_BIND_OPTIONS,
    .run = run,
    .notes =
        {"berth bind -n 16 --tasks-per-gpu 2 --pattern ring --bytes 64M --host-bytes 1G is for "
         "16 tasks on 8 gpus. Sizes take K M G T (powers of 1024) and KB MB GB TB (powers of "
         "1000).",
         "eval \"$(berth bind -n 4 --format env --task 0)\" sets the variables of task 0; "
         "UCX_NET_DEVICES and NCCL_IB_HCA, which choose nics, only where nothing else has set "
         "them. "
         "flux run -N1 -n8 --exclusive $(berth bind -n 8 --format flux) ./app binds by Flux. "
         "export $(berth bind -n 8 --format cray_mpich) is for all ranks of a job with Cray "
         "MPICH on Slingshot.",
         "berth bind -n 2 --ranks 4-5 --world 8 --pattern ring --bytes 64M is for two of "
         "eight ranks; what goes to the others leaves through a nic."},
};
