/* berth cancel: cancels the running probe. */
#include "cmd/cmd.h"

static void draw(struct ui *ui, const json_t *reply)
{
    (void)reply;
    ui_put(ui, "stopped\n");
}

static int run(struct cmd *cmd)
{
    return cmd_answer(cmd, "io.berth.Health.CancelProbe", NULL, draw);
}

const struct cmd_command cmd_cancel = {
    .name = "cancel",
    .operands = "",
    .about = "stop the probe that is running",
    .run = run,
};
