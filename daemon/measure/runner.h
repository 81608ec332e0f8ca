/**
 * Runs one probe program: starts it with an environment built from nothing (and what the caller
 * adds), reads its standard output line by line, bounds its time, its silence and its output, and
 * tells how it ended. Whatever the program does, the daemon only ever sees lines and one ending,
 * and nothing of it outlives that or the daemon: see measure/guardian.h, whose process this
 * binary's main must be ready to become. Loop thread only.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"

struct runner;

enum runner_ending {
    RUNNER_EXITED,   /* by itself; code is its status */
    RUNNER_SIGNALED, /* by itself, by signal code */
    RUNNER_HUNG,     /* killed: it printed nothing for silence_ms */
    RUNNER_TOO_LONG, /* killed: it ran past limit_ms */
    /* killed: more than output_max bytes, or a line longer than RECORD_LINE_MAX */
    RUNNER_FLOODED,
    RUNNER_STOPPED,    /* by runner_stop */
    RUNNER_NOT_STARTED /* code is the errno */
};

struct runner_end {
    enum runner_ending ending;
    int code;
    /* process id of a guardian that had to be left behind, because something below it does not
     * die: it is stuck in a driver. A child of the caller's, to be waited for by it. 0 none */
    int stuck;
    /* it ended, but something that it started outside its session kept its output open, and was
     * killed */
    bool left_open;
    char stderr_text[256]; /* the last line it wrote to standard error, "" none */
};

struct runner_spec {
    const char *program;     /* path */
    const char *const *args; /* argv, argv[0] included, NULL-terminated */
    /* "KEY=VALUE" beside PATH and LC_ALL, NULL-terminated; NULL none */
    const char *const *environment;
    uint64_t limit_ms;
    uint64_t silence_ms;
    size_t output_max;
    /* without the newline, NUL-terminated */
    void (*line)(void *arg, const char *line, size_t length);
    /* once, last; it and all that it started are dead, the runner is freed after it */
    void (*ended)(void *arg, const struct runner_end *end);
    void *arg;
};

/* Never calls back before it returns. A program that cannot be started
 * ends as RUNNER_NOT_STARTED; NO_MEMORY is the only failure. */
enum berth_code runner_start(uv_loop_t *loop, const struct runner_spec *spec,
                             struct runner **ret_runner, struct berth_err *err);

/* Ends it: SIGTERM to its session, SIGKILL to that and to all else that it started 20 ms later, or
 * when it has ended. ended is called once all are dead. No line is called any more. */
void runner_stop(struct runner *runner);

/* One line for a person, "was killed after printing nothing for 20 s". */
void runner_describe(const struct runner_end *end, const struct runner_spec *spec, char *buffer,
                     size_t size);
