#include "cmd/cmd.h"
#include "ui/answer.h"

static int fill(struct cmd *cmd, json_t *parameters)
{
    if (cmd->operand_count == 0 ||
        json_object_set_new(parameters, "metric", json_string(cmd->operand[0])) == 0)
        return CMD_DONE;
    return cmd_fail_memory();
}

static int run(struct cmd *cmd)
{
    return cmd_answer(cmd, "io.berth.Fabric.GetSets", fill, ui_sets);
}

const struct cmd_command cmd_sets = {
    .name = "sets",
    .operands = "[METRIC]",
    .about = "transfers that were measured at the same time, and what each got",
    .most_operands = 1,
    .run = run,
};
