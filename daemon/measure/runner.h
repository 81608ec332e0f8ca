/**
 * Runs one probe program. Builds its environment from scratch, reads its standard output line by
 * line, limits its time, silence and output, and reports its end. The daemon gets only lines and
 * one ending. Nothing of the program outlives that or the daemon: measure/guardian.h. The binary's
 * main must call guardian_main for it. Loop thread only.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"

struct runner;

enum runner_ending {
    RUNNER_EXITED,   /* by itself; code: status */
    RUNNER_SIGNALED, /* by itself; code: signal */
    RUNNER_HUNG,     /* killed: no output for silence_ms */
    RUNNER_TOO_LONG, /* killed: ran longer than limit_ms */
    /* killed: more than output_max bytes, or a line longer than RECORD_LINE_MAX */
    RUNNER_FLOODED,
    RUNNER_STOPPED,    /* by runner_stop */
    RUNNER_NOT_STARTED /* code: errno */
};

struct runner_end {
    enum runner_ending ending;
    int code;
    /* pid of a guardian left behind, because a driver blocks a process below it; 0 none. It is a
     * child of the caller, which must reap it. */
    int stuck;
    /* the program ended, but a process outside its session held its output open and was killed */
    bool left_open;
    char stderr_text[256]; /* last line of standard error; "" none */
};

struct runner_spec {
    const char *program;     /* path */
    const char *const *args; /* argv with argv[0], NULL-terminated */
    /* "KEY=VALUE" besides PATH and LC_ALL, NULL-terminated; NULL none */
    const char *const *environment;
    uint64_t limit_ms;
    uint64_t silence_ms;
    size_t output_max;
    /* without the newline, NUL-terminated */
    void (*line)(void *arg, const char *line, size_t length);
    /* once, last: all processes have ended; the runner is freed afterwards */
    void (*ended)(void *arg, const struct runner_end *end);
    void *arg;
};

/* Starts the program; calls back only after it returned. A program that does not start ends as
 * RUNNER_NOT_STARTED. Fails with NO_MEMORY only. */
enum berth_code runner_start(uv_loop_t *loop, const struct runner_spec *spec,
                             struct runner **ret_runner, struct berth_err *err);

/* Ends the program: SIGTERM to its session; SIGKILL to all its descendants after 20 ms or when it
 * has ended. Calls ended when all are dead, and line no more. */
void runner_stop(struct runner *runner);

/* Writes one line for a user: "was killed: it printed nothing for 20 s". */
void runner_describe(const struct runner_end *end, const struct runner_spec *spec, char *buffer,
                     size_t size);
