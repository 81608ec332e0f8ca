/* berth topo: a drawing of the node. */
#include "ui/topo.h"
#include "cmd/cmd.h"

static int run(struct cmd *cmd)
{
    return cmd_answer(cmd, "io.berth.Fabric.GetNode", NULL, ui_topo);
}

const struct cmd_command cmd_topo = {
    .name = "topo",
    .operands = "",
    .about = "draw the node: packages, memory, caches, gpus, nics, and the links between them",
    .run = run,
};
