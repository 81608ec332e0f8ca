/* berth curves: times of transfers over their size. */
#include "cmd/cmd.h"
#include "ui/answer.h"

enum { ALL, OPTIONS };

static const struct cmd_option options[] = {
    [ALL] = {.name = "all", .help = "every combination of axes, not only the metric's defaults"}};

/* Asks for the metric's default axes alone, of a daemon that is connected. Without an answer all
 * are asked for. */
static bool set_defaults(struct cmd *cmd, json_t *parameters)
{
    json_t *defaults;
    bool fine = true;
    cmd_find_metric(cmd, cmd->operand[0], &defaults);
    if (json_object_size(defaults) > 0) {
        json_object_del(defaults, "bytes");
        fine = json_object_set(parameters, "where", defaults) == 0;
    }
    json_decref(defaults);
    return fine;
}

static int set_parameters(struct cmd *cmd, json_t *parameters)
{
    bool fine = json_object_set_new(parameters, "metric", json_string(cmd->operand[0])) == 0;
    if (fine && cmd->operand_count > 1)
        fine = json_object_set_new(parameters, "from", cmd_list(cmd->operand[1])) == 0;
    if (fine && cmd->operand_count > 2)
        fine = json_object_set_new(parameters, "to", cmd_list(cmd->operand[2])) == 0;
    if (fine && !cmd_has(cmd, &options[ALL]) && !cmd_wants_json(cmd)) {
        int status = cmd_connect(cmd);
        if (status != CMD_DONE)
            return status;
        fine = set_defaults(cmd, parameters);
    }
    return fine ? CMD_DONE : cmd_fail_memory();
}

/* Curves of a metric's default axes; a new reference, NULL where there are none. */
static json_t *find_curves(struct cmd *cmd, const json_t *metric)
{
    json_t *where = json_deep_copy(json_object_get(metric, "defaults")), *reply = NULL,
           *curves = NULL;
    json_object_del(where, "bytes");
    reply = cmd_try(cmd->berth, "io.berth.Fabric.GetCurves",
                    json_pack("{s:s,s:o*}", "metric", ui_member(metric, "name"), "where", where));
    if (json_array_size(json_object_get(reply, "curves")) > 0)
        curves = json_incref(json_object_get(reply, "curves"));
    json_decref(reply);
    return curves;
}

static int run_list(struct cmd *cmd)
{
    json_t *reply = NULL, *list;
    const json_t *metric;
    size_t i;
    if (cmd_wants_json(cmd))
        return cmd_usage(cmd, "a list is of many replies and has no --json; of which metric?");
    list = json_array();
    int status = list == NULL ? cmd_fail_memory()
                              : cmd_ask_filled(cmd, "io.berth.Fabric.ListMetrics", NULL, &reply);
    if (status == CMD_DONE) {
        json_array_foreach(json_object_get(reply, "metrics"), i, metric)
        {
            json_t *curves = json_integer_value(json_object_get(metric, "cells")) > 0
                                 ? find_curves(cmd, metric)
                                 : NULL;
            if (curves != NULL)
                json_array_append_new(
                    list, json_pack("{s:s,s:s,s:o}", "metric", ui_member(metric, "name"), "about",
                                    ui_member(metric, "about"), "curves", curves));
        }
        status = cmd_show(cmd, list, ui_curves_list);
        json_decref(reply);
    }
    json_decref(list);
    return status;
}

static int run(struct cmd *cmd)
{
    if (cmd->operand_count == 0)
        return run_list(cmd);
    return cmd_answer(cmd, "io.berth.Fabric.GetCurves", set_parameters, ui_curves);
}

const struct cmd_command cmd_curves = {
    .name = "curves",
    .operands = "[METRIC [FROM [TO]]]",
    .about = "list the curves, or tell how long transfers take over their size",
    .options = options,
    .option_count = OPTIONS,
    .most_operands = 3,
    .run = run,
    .notes = {"berth curves gpu_gpu_copy_engine gpu0 gpu1,gpu2",
              "The time of a transfer begins at the first figure, rises evenly to each further one "
              "at its size, and behind the last one by its bytes at that rate, "
              "which is Wmax. B80 is the size from which on a call gets 80 % of it, off by the "
              "relative error at the measured size that is missed by most."},
};
