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
    if (cmd->operand_count == 0)
        return cmd_usage(cmd, "curves of which metric? for example berth curves cpu_copy");
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

static int run(struct cmd *cmd)
{
    return cmd_answer(cmd, "io.berth.Fabric.GetCurves", set_parameters, ui_curves);
}

const struct cmd_command cmd_curves = {
    .name = "curves",
    .operands = "METRIC [FROM [TO]]",
    .about = "how long transfers take over their size",
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
