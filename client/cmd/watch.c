/* berth watch: one line for each new snapshot, with its changes. */
#include <unistd.h>

#include "cmd/stream.h"
#include "ui/answer.h"

static bool on_reply(struct cmd_stream *stream, const json_t *reply, const char *text)
{
    const bool *json = stream->arg;
    struct ui ui;
    ui_init(&ui, STDOUT_FILENO);
    if (*json)
        ui_put(&ui, "%s\n", text);
    else
        ui_change(&ui, reply);
    stream->status = cmd_print(&ui);
    return stream->status != CMD_DONE;
}

static int run(struct cmd *cmd)
{
    int status = cmd_connect(cmd);
    if (status != CMD_DONE)
        return status;
    bool json = cmd_wants_json(cmd);
    json_t *request = json_object();
    struct cmd_stream stream = {.method = "io.berth.Fabric.Watch",
                                .parameters = request,
                                .timeout_ms = -1,
                                .on_reply = on_reply,
                                .arg = &json};
    enum cmd_end end = cmd_stream_run(cmd, &stream);
    json_decref(request);
    return end == CMD_END_LOST ? cmd_fail_daemon(cmd, stream.lost) : stream.status;
}

const struct cmd_command cmd_watch = {
    .name = "watch",
    .operands = "",
    .about = "say what changed whenever there is a new snapshot, until interrupted",
    .run = run,
};
