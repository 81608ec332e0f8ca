#include "cmd/stream.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "lib/lib.h"

struct progress {
    struct cmd *cmd;
    struct cmd_stream *stream;
    bool ended;
    enum cmd_end end;
};

static void hear(struct berth *berth, int status, const char *parameters, int continues, void *arg)
{
    struct progress *progress = arg;
    struct cmd_stream *stream = progress->stream;
    (void)berth;
    if (progress->ended)
        return;
    progress->ended = !continues;
    progress->end = CMD_END_LAST;
    if (status < 0 && parameters == NULL) {
        progress->end = CMD_END_LOST;
        stream->lost = status;
        return;
    }
    if (status < 0) {
        progress->end = CMD_END_FAILED;
        stream->status = cmd_fail_daemon(progress->cmd, status);
        return;
    }
    json_t *reply = json_loads(parameters, 0, NULL);
    if (reply == NULL) {
        stream->status = cmd_fail_memory();
        progress->end = CMD_END_FAILED;
        progress->ended = true;
        return;
    }
    if (stream->on_reply(stream, reply, parameters)) {
        progress->end = stream->status == CMD_DONE ? CMD_END_STOPPED : CMD_END_FAILED;
        progress->ended = true;
    }
    json_decref(reply);
}

static void follow(struct progress *progress, int signal_fd)
{
    struct berth *berth = progress->cmd->berth;
    int64_t start = lib_now_ms();
    while (!progress->ended) {
        struct pollfd fds[2] = {{.fd = berth_fd(berth), .events = berth_events(berth)},
                                {.fd = signal_fd, .events = POLLIN}};
        int left = lib_left_ms(start, progress->stream->timeout_ms);
        int n = poll(fds, 2, left);
        if (n == 0) {
            progress->ended = true;
            progress->end = CMD_END_TIMED_OUT;
        } else if (n > 0 && fds[1].revents != 0) {
            progress->ended = true;
            progress->end = CMD_END_INTERRUPTED;
        } else if (n > 0) {
            int status = berth_process(berth);
            if (status < 0 && !progress->ended) {
                progress->ended = true;
                progress->end = CMD_END_LOST;
                progress->stream->lost = status;
            }
        }
    }
}

enum cmd_end cmd_stream_run(struct cmd *cmd, struct cmd_stream *stream)
{
    struct progress progress = {.cmd = cmd, .stream = stream};
    char *parameters = json_dumps(stream->parameters, JSON_COMPACT);
    int status = parameters == NULL ? BERTH_ERROR_OUT_OF_MEMORY
                                    : berth_call_async(cmd->berth, stream->method, parameters,
                                                       BERTH_MORE, hear, &progress);
    free(parameters);
    if (status < 0) {
        stream->lost = status;
        return CMD_END_LOST;
    }
    sigset_t signals, before;
    int signal_fd = -1;
    if (stream->catch_interrupt) {
        sigemptyset(&signals);
        sigaddset(&signals, SIGINT);
        sigprocmask(SIG_BLOCK, &signals, &before);
        signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
    }
    follow(&progress, signal_fd);
    if (stream->catch_interrupt) {
        /* A taken interrupt stays pending and blocked: the command ends now with its own message.
         */
        close(signal_fd);
        if (progress.end != CMD_END_INTERRUPTED)
            sigprocmask(SIG_SETMASK, &before, NULL);
    }
    return progress.end;
}
