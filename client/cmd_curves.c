#include "cmd.h"
#include "ui_transfer.h"

static int run(struct cmd *cmd)
{
    static const char *const keys[] = {"metric", "from", "to"};
    if (cmd->operand_count == 0)
        return cmd_usage(cmd, "curves of which metric? for example berth curves cpu_copy");
    json_t *parameters = json_pack("{s:s}", "metric", cmd->operand[0]), *reply;
    int status = parameters == NULL ? cmd_fail_memory() : CMD_DONE;
    for (size_t i = 1; i < cmd->operand_count && status == CMD_DONE; i++)
        if (json_object_set_new(parameters, keys[i], cmd_list(cmd->operand[i])) != 0)
            status = cmd_fail_memory();
    if (status != CMD_DONE) {
        json_decref(parameters);
        return status;
    }
    status = cmd_ask(cmd, "io.berth.Fabric.GetCurves", parameters, &reply);
    if (status != CMD_DONE)
        return status;
    status = cmd_show(cmd, reply, ui_curves);
    json_decref(reply);
    return status;
}

const struct cmd_command cmd_curves = {
    .name = "curves",
    .operands = "METRIC [FROM [TO]]",
    .about = "how long transfers take over their size, between all places or these",
    .most_operands = 3,
    .run = run,
    .notes = {"berth curves gpu_gpu_copy_engine gpu0 gpu1,gpu2",
              "The time of a transfer is the first figure plus its bytes at the rates behind it, each from the size in front of it. Wmax is the "
              "last rate, B80 the size from which on a call gets 80 % of it, off by the relative error at the measured size that is missed by most."},
};
