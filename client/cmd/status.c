/* berth status: state of the daemon; with --wait, waits until it is ready. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/stream.h"
#include "lib/lib.h"
#include "ui/answer.h"

#define RETRY_MS 50

enum { WAIT, TIMEOUT, OPTIONS };

static const struct cmd_option options[] = {
    [WAIT] = {.name = "wait", .help = "wait until there is a daemon and it is ready"},
    [TIMEOUT] = {.name = "timeout",
                 .value = "SECONDS",
                 .help = "the longest to wait; exit status 75 then"},
};

/* Keeps the last reply; stops when the daemon is ready. */
static bool on_reply(struct cmd_stream *stream, const json_t *reply, const char *text)
{
    struct cmd *cmd = stream->arg;
    free(cmd->reply);
    cmd->reply = strdup(text);
    if (cmd->reply == NULL)
        stream->status = cmd_fail_memory();
    return cmd->reply == NULL || strcmp(ui_member(reply, "state"), "ready") == 0;
}

static int left_ms(int64_t deadline_ms)
{
    if (deadline_ms < 0)
        return -1;
    int64_t left = deadline_ms - lib_now_ms();
    return left < 0 ? 0 : (int)left;
}

/* Waits until the daemon is ready: a missing daemon, or one that goes away, may still come. */
static int wait_ready(struct cmd *cmd, long timeout_s)
{
    int64_t deadline = timeout_s < 0 ? -1 : lib_now_ms() + (int64_t)timeout_s * 1000;
    json_t *request = json_object();
    int status = CMD_AGAIN;
    for (;;) {
        int left = left_ms(deadline);
        int lost = berth_fd(cmd->berth) >= 0
                       ? BERTH_DONE
                       : berth_connect(cmd->berth, cmd_value(cmd, &cmd_globals[CMD_SOCKET]));
        if (lost == BERTH_DONE) {
            struct cmd_stream stream = {.method = "io.berth.Fabric.GetStatus",
                                        .parameters = request,
                                        .timeout_ms = left,
                                        .on_reply = on_reply,
                                        .arg = cmd};
            enum cmd_end end = cmd_stream_run(cmd, &stream);
            if (end == CMD_END_STOPPED || end == CMD_END_FAILED) {
                status = stream.status;
                break;
            }
            lost = end == CMD_END_LOST ? stream.lost : BERTH_DONE;
        }
        if (lost != BERTH_DONE && lost != BERTH_ERROR_NO_DAEMON && lost != BERTH_ERROR_CLOSED &&
            lost != BERTH_ERROR_TIMED_OUT) {
            status = cmd_fail_daemon(cmd, lost);
            break;
        }
        left = left_ms(deadline);
        if (left == 0) {
            status = cmd_fail(CMD_AGAIN, "the daemon is not ready after %ld s%s%s", timeout_s,
                              lost == BERTH_DONE ? "" : ": ",
                              lost == BERTH_DONE ? "" : berth_error_detail(cmd->berth));
            break;
        }
        poll(NULL, 0, left < 0 || left > RETRY_MS ? RETRY_MS : left);
    }
    json_decref(request);
    return status;
}

static int run_wait(struct cmd *cmd)
{
    const char *text = cmd_value(cmd, &options[TIMEOUT]);
    long timeout_s = -1;
    if (text != NULL && !lib_parse_count(text, 0, 1000000, &timeout_s))
        return cmd_usage(cmd, "--timeout takes seconds, not %.40s", text);
    int status = CMD_DONE;
    if (cmd_has(cmd, &cmd_globals[CMD_NODE]))
        status = cmd_connect(cmd);
    else if ((cmd->berth = berth_new()) == NULL)
        status = cmd_fail_memory();
    if (status == CMD_DONE)
        status = wait_ready(cmd, timeout_s);
    if (status != CMD_DONE)
        return status;
    json_t *reply = json_loads(cmd->reply, 0, NULL);
    status = reply == NULL ? cmd_fail_memory() : cmd_show(cmd, reply, ui_status);
    json_decref(reply);
    return status;
}

static int run(struct cmd *cmd)
{
    if (cmd_has(cmd, &options[WAIT]))
        return run_wait(cmd);
    if (cmd_has(cmd, &options[TIMEOUT]))
        return cmd_usage(cmd, "--timeout goes with --wait");
    json_t *reply = NULL, *claims = NULL;
    int status = cmd_ask_filled(cmd, "io.berth.Fabric.GetStatus", NULL, &reply);
    if (status != CMD_DONE)
        return status;
    if (!cmd_wants_json(cmd))
        claims = cmd_try(cmd->berth, "io.berth.Placement.ListClaims", json_object());
    if (claims != NULL)
        json_object_update_missing(reply, claims);
    status = cmd_show(cmd, reply, ui_status);
    json_decref(claims);
    json_decref(reply);
    return status;
}

const struct cmd_command cmd_status = {
    .name = "status",
    .operands = "",
    .about = "the daemon itself: state, version, store; --wait for a prolog",
    .options = options,
    .option_count = OPTIONS,
    .run = run,
};
