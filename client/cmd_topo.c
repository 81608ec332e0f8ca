#include "cmd.h"
#include "ui_topo.h"

static int run(struct cmd *cmd)
{
    json_t *reply;
    int status = cmd_ask(cmd, "io.berth.Fabric.GetNode", json_object(), &reply);
    if (status != CMD_DONE)
        return status;
    status = cmd_show(cmd, reply, ui_topo);
    json_decref(reply);
    return status;
}

const struct cmd_command cmd_topo = {
    .name = "topo",
    .operands = "",
    .about = "draw the node: packages, memory, caches, gpus, nics, and the links between them",
    .run = run,
};
