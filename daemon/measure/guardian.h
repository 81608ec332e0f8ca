/**
 * Process between the daemon and a probe, so that nothing of the probe outlives the daemon. That
 * includes probes that ignore signals and their children in other sessions. berthd executes itself
 * as a guardian (execve of /proc/self/exe); the runner is the daemon's side.
 *
 * They communicate over a socket. The guardian reports the probe's state; the daemon sends nothing.
 * Shutdown of the daemon's end tells the guardian to kill all its descendants at once. The daemon's
 * death does the same, so there is only one way to end. The guardian exits with status 0 when no
 * descendant is left. It forwards SIGTERM to the probe's session. If the guardian is killed, the
 * kernel kills the probe (PR_SET_PDEATHSIG).
 */
#pragma once
#include <stdbool.h>

/* argv[0], and the name that ps shows; at most 15 bytes */
#define GUARDIAN_NAME "berth-guardian"
/* its descriptor of the socket; of the daemon's others it inherits 0, 1 and 2 only */
#define GUARDIAN_SOCKET 3

/* argv: GUARDIAN_NAME, the pid of the daemon, the path of the program, the program's argv. */
#define GUARDIAN_ARGS 3

enum guardian_news {
    GUARDIAN_STARTED, /* number: pid and session id of the probe */
    GUARDIAN_FAILED,  /* the probe did not start; number: errno */
    /* number: status; the rest of its session has been killed */
    GUARDIAN_EXITED,
    GUARDIAN_SIGNALED /* number: signal; likewise */
};

struct guardian_message {
    int news, number;
};

/* True when this process was started as a guardian. Call it first in main, followed by
 * guardian_main. */
bool guardian_is_requested(char *const *argv);

/* Ends the process, which must have one thread. */
_Noreturn void guardian_main(char **argv);
