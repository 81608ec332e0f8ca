/**
 * Methods that reply more than once.
 */
#pragma once
#include "cmd/cmd.h"

enum cmd_end {
    CMD_END_LAST,        /* the last reply came */
    CMD_END_STOPPED,     /* on_reply had enough */
    CMD_END_INTERRUPTED, /* ctrl-C, where it is asked for */
    CMD_END_TIMED_OUT,
    CMD_END_LOST,  /* the connection broke: nothing was printed yet */
    CMD_END_FAILED /* an error was printed; its exit status is in stream.status */
};

struct cmd_stream {
    const char *method;
    json_t *parameters;   /* owned by the caller */
    int timeout_ms;       /* for all of it; -1 for ever */
    bool catch_interrupt; /* else ctrl-C ends the command as usual */
    /* One reply and its text. True to stop: set status then. */
    bool (*on_reply)(struct cmd_stream *stream, const json_t *reply, const char *text);
    void *arg;
    int status; /* the exit status: CMD_DONE, or on_reply's or the error's */
    int lost;   /* why, when it was LOST: for cmd_fail_daemon */
};

/* Calls the method with more on the connected handle and hands on every reply. */
enum cmd_end cmd_stream_run(struct cmd *cmd, struct cmd_stream *stream);
