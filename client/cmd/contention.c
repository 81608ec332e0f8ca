/* berth contention: measured concurrent transfers, their rates and their shared limits. */
#include "cmd/cmd.h"
#include "ui/answer.h"

enum { WHY, OPTIONS };

static const struct cmd_option options[] = {[WHY] = CMD_WHY};

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
    .about = "limits that concurrent transfers share, and runs that show them",
    .options = options,
    .option_count = OPTIONS,
    .most_operands = 1,
    .run = run,
};
