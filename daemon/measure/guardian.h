/**
 * A process between the daemon and a probe, so that nothing of the probe outlives the daemon: not a
 * probe that ignores signals, nor what it started in sessions of its own. berthd begins itself anew
 * as one (execve of /proc/self/exe); the runner is the daemon's side.
 *
 * The two talk over a socket. The guardian tells what becomes of the probe. The daemon says
 * nothing: that its end is shut down means that everything below the guardian is to be killed at
 * once, and as that is what the daemon's death does too, there is one way to end and it is the one
 * that is always taken. The guardian ends, with status 0, when nothing is left below it. SIGTERM is
 * passed on to the session of the probe. The probe itself is killed when somebody kills the
 * guardian (PR_SET_PDEATHSIG).
 */
#pragma once
#include <stdbool.h>

/* argv[0], and the name that ps shows; at most 15 bytes */
#define GUARDIAN_NAME "berth-guardian"
/* its descriptor of the socket; it takes no other of the daemon's but 0, 1, 2 */
#define GUARDIAN_SOCKET 3

/* argv: GUARDIAN_NAME, the pid of the daemon, the path of the program, the program's argv. */
#define GUARDIAN_ARGS 3

enum guardian_news {
    GUARDIAN_STARTED, /* number is the probe's pid, which is its session's too */
    GUARDIAN_FAILED,  /* the probe could not be started; number is the errno */
    /* number is the status; what it left running in its session has been killed */
    GUARDIAN_EXITED,
    GUARDIAN_SIGNALED /* number is the signal; likewise */
};

struct guardian_message {
    int news, number;
};

/* Whether this process was begun to be a guardian: ask first in main, and call guardian_main then.
 */
bool guardian_is_meant(char *const *argv);

/* Ends the process, which must have one thread. */
_Noreturn void guardian_main(char **argv);
