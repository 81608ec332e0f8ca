/* berth contention: measured concurrent transfers, their rates and their shared limits. */
#include "cmd/cmd.h"
#include "ui/answer.h"

static int set_parameters(struct cmd *cmd, json_t *parameters)
{
    if (cmd->operand_count == 0 ||
        json_object_set_new(parameters, "metric", json_string(cmd->operand[0])) == 0)
        return CMD_DONE;
    return cmd_fail_memory();
}

static int run(struct cmd *cmd)
{
    return cmd_answer(cmd, "io.berth.Fabric.GetContention", set_parameters, ui_contention);
}

const struct cmd_command cmd_contention = {
    .name = "contention",
    .operands = "[METRIC]",
    .about = "concurrent transfers that were measured, their rates, and the limits that they share",
    .most_operands = 1,
    .run = run,
};
