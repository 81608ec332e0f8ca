#include "cmd.h"

static void draw(struct ui *ui, const json_t *reply)
{
    (void)reply;
    ui_put(ui, "stopped\n");
}

static int run(struct cmd *cmd)
{
    json_t *reply;
    int status = cmd_ask(cmd, "io.berth.Health.CancelProbe", json_object(), &reply);
    if (status != CMD_DONE)
        return status;
    status = cmd_show(cmd, reply, draw);
    json_decref(reply);
    return status;
}

const struct cmd_command cmd_cancel = {
    .name = "cancel",
    .operands = "",
    .about = "stop the probe that is running",
    .run = run,
};
