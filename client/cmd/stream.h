/**
 * Methods with more than one reply.
 */
#pragma once
#include "cmd/cmd.h"

enum cmd_end {
    CMD_END_LAST,        /* the last reply came */
    CMD_END_STOPPED,     /* on_reply stopped the stream */
    CMD_END_INTERRUPTED, /* ctrl-C, when catch_interrupt is set */
    CMD_END_TIMED_OUT,
    CMD_END_LOST,  /* the connection broke; no error was printed */
    CMD_END_FAILED /* an error was printed; its exit status is in stream.status */
};

struct cmd_stream {
    const char *method;
    json_t *parameters;   /* owned by the caller */
    int timeout_ms;       /* limit of the whole stream; -1 none */
    bool catch_interrupt; /* false: ctrl-C ends the command as usual */
    /* Receives one reply and its text. Returns true to stop, after setting status. */
    bool (*on_reply)(struct cmd_stream *stream, const json_t *reply, const char *text);
    void *arg;
    int status; /* exit status: CMD_DONE, or one from on_reply or the error */
    int lost;   /* status of a LOST connection, for cmd_fail_daemon */
};

/* Calls the method with more on the connected handle and passes on every reply. */
enum cmd_end cmd_stream_run(struct cmd *cmd, struct cmd_stream *stream);
