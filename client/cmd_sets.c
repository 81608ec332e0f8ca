#include "cmd.h"
#include "ui_transfer.h"

static int run(struct cmd *cmd)
{
    json_t *parameters = cmd->operand_count > 0 ? json_pack("{s:s}", "metric", cmd->operand[0]) : json_object(), *reply;
    int status = cmd_ask(cmd, "io.berth.Fabric.GetSets", parameters, &reply);
    if (status != CMD_DONE)
        return status;
    status = cmd_show(cmd, reply, ui_sets);
    json_decref(reply);
    return status;
}

const struct cmd_command cmd_sets = {
    .name = "sets",
    .operands = "[METRIC]",
    .about = "transfers that were measured at the same time, and what each got",
    .most_operands = 1,
    .run = run,
};
