/* berth topo: a drawing of the node. */
#include "ui/topo.h"
#include "cmd/cmd.h"

enum { OUTPUT, OPTIONS };

static const struct cmd_option options[] = {[OUTPUT] = CMD_OUTPUT("the node")};

static int run(struct cmd *cmd)
{
    const char *path = cmd_value(cmd, &options[OUTPUT]);
    json_t *reply;
    if (path != NULL && !cmd_is_picture(path))
        return cmd_usage(cmd, "-o takes a file that ends with .svg, .png or .pdf, or -, not %.60s",
                         path);
    int status = cmd_ask_filled(cmd, "io.berth.Fabric.GetNode", NULL, &reply);
    if (status != CMD_DONE)
        return status;
    status = path != NULL ? cmd_picture(path, reply, NULL) : cmd_show(cmd, reply, ui_topo);
    json_decref(reply);
    return status;
}

const struct cmd_command cmd_topo = {
    .name = "topo",
    .operands = "",
    .about = "draw the node: packages, memory, caches, gpus, nics, and the links between them",
    .options = options,
    .option_count = OPTIONS,
    .run = run,
    .notes = {"In a picture, lines are as wide as links are fast: as measured, else nominal."},
};
