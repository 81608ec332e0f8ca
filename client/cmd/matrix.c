/* berth matrix: a metric between places, or the list of metrics. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "ui/answer.h"
#include "ui/matrix.h"

#define CORES_MOST 14 /* more come by L3 */

enum { SIZE, WHERE, FROM, TO, INTERVALS, ALL, OPTIONS };

static const struct cmd_option options[] = {
    [SIZE] = {.name = "size",
              .value = "BYTES",
              .help = "the cells measured with this size (the axis bytes), large, or all of them"},
    [WHERE] = {.name = "where",
               .value = "AXIS=VALUE",
               .help = "only cells with this value of an axis, as in noise=core; may be repeated"},
    [FROM] = {.name = "from", .value = "PLACES", .help = "only these rows, for example llc0,llc1"},
    [TO] = {.name = "to", .value = "PLACES", .help = "only these columns"},
    [INTERVALS] =
        {.name = "intervals",
         .help = "both ends of each cell's 95 % interval, or stated range, instead of its value"},
    [ALL] = {.name = "all",
             .help = "every combination of axes; without a metric every metric with its meaning"},
};

int cmd_find_metric(struct cmd *cmd, const char *metric, json_t **ret_defaults)
{
    json_t *reply = cmd_try(cmd->berth, "io.berth.Fabric.ListMetrics", json_object());
    int better = 0;
    *ret_defaults = NULL;
    size_t i;
    const json_t *item;
    json_array_foreach(json_object_get(reply, "metrics"), i, item)
    {
        const char *name = json_string_value(json_object_get(item, "name")),
                   *word = json_string_value(json_object_get(item, "better"));
        if (name == NULL || word == NULL || strcmp(name, metric) != 0)
            continue;
        better = strcmp(word, "higher") == 0 ? 1 : strcmp(word, "lower") == 0 ? -1 : 0;
        *ret_defaults = json_incref(json_object_get(item, "defaults"));
    }
    json_decref(reply);
    return better;
}

static void put_list(struct ui *ui, const json_t *reply) { ui_metrics(ui, reply, false); }
static void put_whole_list(struct ui *ui, const json_t *reply) { ui_metrics(ui, reply, true); }

static int run_list(struct cmd *cmd)
{
    for (size_t i = 0; i < ALL; i++)
        if (cmd_has(cmd, &options[i]))
            return cmd_usage(cmd, "--%s needs a metric; without options, berth matrix lists them",
                             options[i].name);
    return cmd_answer(cmd, "io.berth.Fabric.ListMetrics", NULL,
                      cmd_has(cmd, &options[ALL]) ? put_whole_list : put_list);
}

static bool wants_all_sizes(const struct cmd *cmd)
{
    const char *text = cmd_value(cmd, &options[SIZE]);
    return text != NULL && strcmp(text, "all") == 0;
}

static int set_where(struct cmd *cmd, json_t *object)
{
    return cmd_set_where(cmd, object, &options[WHERE],
                         wants_all_sizes(cmd) ? NULL : &options[SIZE]);
}

static int set_parameters(struct cmd *cmd, json_t *parameters)
{
    if (json_object_set_new(parameters, "metric", json_string(cmd->operand[0])) != 0)
        return cmd_fail_memory();
    int status = set_where(cmd, parameters);
    if (status == CMD_DONE)
        status = cmd_set_list(cmd, parameters, "from", &options[FROM]);
    if (status == CMD_DONE)
        status = cmd_set_list(cmd, parameters, "to", &options[TO]);
    return status;
}

/* Returns why a matrix has no cells and measuring gives none; NULL where it does, or has some. */
static const char *why_none(struct cmd *cmd, const json_t *matrix)
{
    const json_t *place;
    size_t gpus = 0, i;
    if (json_array_size(json_object_get(matrix, "cells")) > 0)
        return NULL;
    if (cmd_has(cmd, &cmd_globals[CMD_NODE]))
        return "a recorded node measures nothing";
    if (strcmp(cmd->operand[0], "mpi_internode_bandwidth") == 0)
        return "berth-probe-mpi --interface NAME measures, and berth probe --records takes it";
    if (strncmp(cmd->operand[0], "mpi_", 4) == 0)
        return "berth probe --mpi measures";
    json_t *node = cmd_try(cmd->berth, "io.berth.Fabric.GetNode", json_object());
    bool is_known = node != NULL;
    json_array_foreach(json_object_get(node, "places"), i, place) gpus +=
        strcmp(ui_member(place, "kind"), "gpu") == 0;
    json_decref(node);
    return is_known && gpus == 0 && strstr(cmd->operand[0], "gpu") != NULL ? "this node has no gpu"
                                                                           : NULL;
}

/* The matrix by L3s where it has many cores and nobody chose; else a reference to itself. */
static json_t *fold(struct cmd *cmd, const struct ui *ui, json_t *matrix)
{
    bool is_chosen =
        cmd_has(cmd, &options[ALL]) || cmd_has(cmd, &options[FROM]) || cmd_has(cmd, &options[TO]);
    json_t *node = is_chosen ? NULL : cmd_try(cmd->berth, "io.berth.Fabric.GetNode", json_object()),
           *folded = NULL;
    if (node != NULL)
        folded = ui_fold_cores(ui, matrix, node, CORES_MOST);
    json_decref(node);
    return folded != NULL ? folded : json_incref(matrix);
}

static json_t *ask_matrix(struct cmd *cmd, const char *metric)
{
    return cmd_try(cmd->berth, "io.berth.Fabric.GetMatrix", json_pack("{s:s}", "metric", metric));
}

/* Adds the measurements under the noise to the noise. */
static void put_noise(struct cmd *cmd, struct ui *ui, const json_t *reply)
{
    json_t *bandwidth = ask_matrix(cmd, "memory_bandwidth"),
           *latency = ask_matrix(cmd, "memory_latency"),
           *kernels = ask_matrix(cmd, "host_gpu_kernel");
    ui_noise(ui, reply, &(struct ui_noise){bandwidth, latency, kernels});
    json_decref(bandwidth);
    json_decref(latency);
    json_decref(kernels);
}

static int run(struct cmd *cmd)
{
    if (cmd->operand_count == 0)
        return run_list(cmd);
    json_t *reply;
    int status = cmd_ask_filled(cmd, "io.berth.Fabric.GetMatrix", set_parameters, &reply);
    if (status != CMD_DONE)
        return status;
    if (cmd_wants_json(cmd)) {
        status = cmd_print_json(cmd->reply);
    } else {
        struct ui ui;
        ui_init(&ui, STDOUT_FILENO);
        json_t *asked = json_object(), *drawn = fold(cmd, &ui, reply), *defaults;
        int better = cmd_find_metric(cmd, cmd->operand[0], &defaults);
        if (asked != NULL && set_where(cmd, asked) == CMD_DONE)
            ui_matrix(&ui, drawn,
                      &(struct ui_matrix_options){
                          .intervals = cmd_has(cmd, &options[INTERVALS]),
                          .picked = cmd_has(cmd, &options[WHERE]) || cmd_has(cmd, &options[SIZE]) ||
                                    cmd_has(cmd, &options[FROM]) || cmd_has(cmd, &options[TO]),
                          .all = cmd_has(cmd, &options[ALL]),
                          .all_sizes = wants_all_sizes(cmd),
                          .choice = {json_object_get(asked, "where"), defaults},
                          .better = better,
                          .why_none = why_none(cmd, reply)});
        else
            ui.failed = true;
        if (drawn != reply) {
            ui_put(&ui, "  ");
            ui_paragraph(&ui, 2, ui_member(drawn, "note"));
        }
        if (strcmp(cmd->operand[0], "memory_noise") == 0)
            put_noise(cmd, &ui, reply);
        if (strcmp(cmd->operand[0], "gpu_touch") == 0)
            ui_iterations(&ui, reply);
        json_decref(asked);
        json_decref(drawn);
        json_decref(defaults);
        status = cmd_print(&ui);
    }
    json_decref(reply);
    return status;
}

const struct cmd_command cmd_matrix = {
    .name = "matrix",
    .operands = "[METRIC]",
    .about = "list the metrics, or print one as a heat map",
    .options = options,
    .option_count = OPTIONS,
    .most_operands = 1,
    .run = run,
    .notes = {"Rows are where it starts, columns where it goes. 1 GB/s is 10^9 bytes per second. "
              "Values that were not measured are "
              "marked: n nominal, p published, - none, and why. Of many sizes that come which the "
              "metric has by default, most often large. Of many combinations of axes those come "
              "that --where and the defaults say, or one table, an axis "
              "down the rows, or a row for each with its least and most."},
};
