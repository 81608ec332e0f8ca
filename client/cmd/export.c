/* berth export: the node in the format of another program, among them a rankfile. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "ui/answer.h"

enum { OUTPUT, TASKS, GPUS_EACH, CORES, OPTIONS };

static const struct cmd_option options[] = {
    [OUTPUT] = {.letter = 'o',
                .name = "output",
                .value = "FILE",
                .help = "write it there, all or nothing, instead of to standard output"},
    [TASKS] = {.letter = 'n',
               .name = "tasks",
               .value = "TASKS",
               .help = "rankfile: tasks on this node; default one for each gpu, or for each NUMA "
                       "node where there is none"},
    [GPUS_EACH] = {.letter = 'g',
                   .name = "gpus-per-task",
                   .value = "GPUS",
                   .help = "rankfile: gpus of each task"},
    [CORES] = {.letter = 'c',
               .name = "cores-per-task",
               .value = "CORES",
               .help = "rankfile: whole cores of each task"},
};

#define FORMATS "hwloc, nccl, rccl, gres, dot, prometheus, nfd, dra, ucx, rankfile"

static const char *const formats[] = {"hwloc", "nccl", "rccl", "gres",     "dot", "prometheus",
                                      "nfd",   "dra",  "ucx",  "rankfile", NULL};

static int fill_format(struct cmd *cmd, json_t *parameters)
{
    return json_object_set_new(parameters, "format", json_string(cmd->operand[0])) == 0
               ? CMD_DONE
               : cmd_fail_memory();
}

/* Requests the text of a format. ret_reply receives a new reference, and ret_text borrows from it.
 */
static int ask_format(struct cmd *cmd, json_t **ret_reply, const char **ret_text)
{
    int status = cmd_ask_filled(cmd, "io.berth.Fabric.Export", fill_format, ret_reply);
    if (status == CMD_DONE)
        *ret_text = json_string_value(json_object_get(*ret_reply, "text"));
    return status;
}

/* Default of --tasks: the gpus of the node, from GetNode, else its NUMA nodes with cpus, else 1. */
static int count_tasks(struct cmd *cmd, json_int_t *ret_tasks)
{
    json_t *node;
    int status = cmd_ask_filled(cmd, "io.berth.Fabric.GetNode", NULL, &node);
    if (status != CMD_DONE)
        return status;
    json_int_t gpus = 0, numas = 0;
    size_t i;
    const json_t *place;
    json_array_foreach(json_object_get(node, "places"), i, place)
    {
        const char *kind = ui_member(place, "kind");
        gpus += strcmp(kind, "gpu") == 0;
        numas += strcmp(kind, "numa") == 0 && *ui_member(place, "cpus") != '\0';
    }
    json_decref(node);
    *ret_tasks = gpus > 0 ? gpus : numas > 0 ? numas : 1;
    return CMD_DONE;
}

static int fill_rankfile(struct cmd *cmd, json_t *parameters)
{
    json_int_t tasks;
    int status = CMD_DONE;
    if (cmd_has(cmd, &options[TASKS])) {
        status = cmd_set_count(cmd, parameters, "tasks", &options[TASKS], 1, 1 << 20);
    } else {
        status = count_tasks(cmd, &tasks);
        if (status == CMD_DONE &&
            json_object_set_new(parameters, "tasks", json_integer(tasks)) != 0)
            status = cmd_fail_memory();
    }
    if (status == CMD_DONE)
        status = cmd_set_count(cmd, parameters, "gpus_per_task", &options[GPUS_EACH], 0, 1 << 20);
    if (status == CMD_DONE)
        status = cmd_set_count(cmd, parameters, "cores_per_task", &options[CORES], 1, 1 << 20);
    if (status == CMD_DONE)
        status = cmd_set_allowed(cmd, parameters, true, NULL, NULL);
    return status;
}

static int ask_rankfile(struct cmd *cmd, json_t **ret_reply, const char **ret_text)
{
    int status = cmd_ask_filled(cmd, "io.berth.Placement.Bind", fill_rankfile, ret_reply);
    if (status != CMD_DONE)
        return status;
    *ret_text =
        json_string_value(json_object_get(json_object_get(*ret_reply, "launcher"), "rankfile"));
    if (*ret_text == NULL) {
        json_decref(*ret_reply);
        return cmd_fail(CMD_DATA, "no rank file would be right here (berth bind says why)");
    }
    return CMD_DONE;
}

static int show(struct cmd *cmd, const char *text)
{
    const char *path = cmd_value(cmd, &options[OUTPUT]);
    if (cmd_wants_json(cmd))
        return cmd_print_json(cmd->reply);
    struct ui ui = {0};
    if (path != NULL)
        return cmd_file_report(cmd, path, cmd_file_replace(path, text, strlen(text)));
    ui_put(&ui, "%s", text);
    return cmd_print(&ui);
}

static int run(struct cmd *cmd)
{
    const char *format = cmd->operand_count > 0 ? cmd->operand[0] : NULL;
    bool is_known = false;
    for (size_t i = 0; format != NULL && formats[i] != NULL; i++)
        is_known = is_known || strcmp(formats[i], format) == 0;
    if (format == NULL)
        return cmd_usage(cmd, "which format? one of " FORMATS);
    if (!is_known) {
        const char *nearest = cmd_nearest(format, formats, sizeof formats / sizeof formats[0] - 1);
        return cmd_usage(cmd, "no format %.40s%s%s; there are " FORMATS, format,
                         nearest != NULL ? ", did you mean " : "", nearest != NULL ? nearest : "");
    }
    if (cmd_wants_json(cmd) && cmd_has(cmd, &options[OUTPUT]))
        return cmd_usage(cmd, "--json prints the reply, and --output is for the text in it");
    const char *path = cmd_value(cmd, &options[OUTPUT]);
    if (path != NULL && strcmp(path, "-") != 0 && cmd_is_picture(path))
        return cmd_usage(cmd, "a format is text; berth topo -o %.60s draws a picture", path);
    bool is_rankfile = strcmp(format, "rankfile") == 0;
    for (size_t i = TASKS; !is_rankfile && i < OPTIONS; i++)
        if (cmd_has(cmd, &options[i]))
            return cmd_usage(cmd, "--%s goes with rankfile", options[i].name);
    json_t *reply;
    const char *text = NULL;
    int status = is_rankfile ? ask_rankfile(cmd, &reply, &text) : ask_format(cmd, &reply, &text);
    if (status != CMD_DONE)
        return status;
    status = text != NULL ? show(cmd, text) : cmd_fail(CMD_DATA, "the daemon sent no text");
    json_decref(reply);
    return status;
}

const struct cmd_command cmd_export = {
    .name = "export",
    .operands = "FORMAT",
    .about = "the node in the form that another tool reads",
    .options = options,
    .option_count = OPTIONS,
    .most_operands = 1,
    .first = formats,
    .run = run,
    .notes =
        {"hwloc: XML with distances and memory attributes, for lstopo, hwloc-calc, MPI "
         "libraries. nccl, rccl: a file for NCCL_TOPO_FILE. gres: lines of Slurm's gres.conf. "
         "dot: a drawing for Graphviz. prometheus: metrics for node_exporter's textfile "
         "collector. nfd: labels of a Kubernetes node, a feature file. dra: a ResourceSlice of "
         "Kubernetes. ucx: bandwidths for UCX's variables. rankfile: Open MPI's, as berth bind "
         "--format rankfile.",
         "Values are measured, or published where the node is a recording; what is not known "
         "is left out."},
};
