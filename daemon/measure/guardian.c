#include "measure/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure/offspring.h"

/* interval for processes that SIGKILL does not end because a driver blocks them */
#define LONGEST_WAIT_MS 100

struct guardian {
    pid_t daemon;
    pid_t probe; /* 0 none, or reaped */
    int signals; /* signalfd of all signals, which are blocked */
    sigset_t probe_mask;
};

static void send_news(enum guardian_news news, int number)
{
    struct guardian_message message = {.news = (int)news, .number = number};
    send(GUARDIAN_SOCKET, &message, sizeof message, MSG_NOSIGNAL);
}

/* True when the daemon has ended or closed its end. A child of the daemon between fork and exec
 * keeps the socket open for a while, so the parent is checked too. */
static bool is_deserted(const struct guardian *guardian)
{
    char byte;
    ssize_t length = recv(GUARDIAN_SOCKET, &byte, 1, MSG_DONTWAIT);
    return length >= 0 || (errno != EAGAIN && errno != EINTR) || getppid() != guardian->daemon;
}

static bool prepare(struct guardian *guardian)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &guardian->probe_mask);
    prctl(PR_SET_NAME, GUARDIAN_NAME);
    /* A group of its own: signals to the daemon's group do not reach it. The same session: the
     * daemon distinguishes it from adopted processes. */
    setpgid(0, 0);
    fcntl(GUARDIAN_SOCKET, F_SETFD, FD_CLOEXEC);
    guardian->signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    /* SIGCONT wakes a guardian that was stopped. */
    return guardian->signals >= 0 && prctl(PR_SET_PDEATHSIG, SIGCONT) == 0 &&
           prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

/* Executes the probe, in the child. The daemon has the session's number before the probe can kill
 * the guardian. The message about a failure precedes the guardian's about the exit; the first one
 * counts. */
_Noreturn static void become_probe(const struct guardian *guardian, pid_t parent, char **argv)
{
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent) {
        send_news(GUARDIAN_STARTED, getpid());
        sigprocmask(SIG_SETMASK, &guardian->probe_mask, NULL);
        execvp(argv[0], argv + 1);
        send_news(GUARDIAN_FAILED, errno);
    }
    _exit(127);
}

static void start_probe(struct guardian *guardian, char **argv)
{
    pid_t self = getpid();
    pid_t child = fork();
    if (child == 0)
        become_probe(guardian, self, argv);
    if (child < 0) {
        send_news(GUARDIAN_FAILED, errno);
        return;
    }
    guardian->probe = child;
    /* Close the outputs, so that they end with the probe, not with this process. */
    dup2(STDIN_FILENO, STDOUT_FILENO);
    dup2(STDIN_FILENO, STDERR_FILENO);
}

/* Kills the session. Until the probe is reaped, its pid and session id are not reused. */
static void probe_ended(struct guardian *guardian, const siginfo_t *how)
{
    kill(-guardian->probe, SIGKILL);
    guardian->probe = 0;
    send_news(how->si_code == CLD_EXITED ? GUARDIAN_EXITED : GUARDIAN_SIGNALED, how->si_status);
}

/* Reaps children. Returns true while any is left. */
static bool reap(struct guardian *guardian)
{
    for (;;) {
        siginfo_t how = {0};
        if (waitid(P_ALL, 0, &how, WEXITED | WNOHANG | WNOWAIT) != 0)
            return errno != ECHILD;
        if (how.si_pid == 0)
            return true;
        if (how.si_pid == guardian->probe)
            probe_ended(guardian, &how);
        waitpid(how.si_pid, NULL, 0);
    }
}

/* Forwards SIGTERM to the probe's session, or to its pid before the session exists. */
static void pass_on_term(const struct guardian *guardian)
{
    if (guardian->probe > 0 && kill(-guardian->probe, SIGTERM) != 0)
        kill(guardian->probe, SIGTERM);
}

/* Reads pending signals; true when one was SIGTERM. The others only wake the guardian. */
static bool read_signals(const struct guardian *guardian)
{
    struct signalfd_siginfo signal;
    bool term = false;
    while (read(guardian->signals, &signal, sizeof signal) == (ssize_t)sizeof signal)
        term |= signal.ssi_signo == SIGTERM;
    return term;
}

static void watch(struct guardian *guardian)
{
    struct pollfd fds[] = {{.fd = guardian->signals, .events = POLLIN},
                           {.fd = GUARDIAN_SOCKET, .events = POLLIN}};
    while (!is_deserted(guardian)) {
        poll(fds, 2, -1);
        if (read_signals(guardian))
            pass_on_term(guardian);
        reap(guardian);
    }
}

/* Kills all descendants. A killed process forks no more; its children become this one's, with a
 * SIGCHLD. */
static void kill_all(struct guardian *guardian)
{
    struct pollfd signals = {.fd = guardian->signals, .events = POLLIN};
    for (int wait_ms = 1; reap(guardian);
         wait_ms = wait_ms < LONGEST_WAIT_MS ? 2 * wait_ms : LONGEST_WAIT_MS) {
        offspring_kill("/proc");
        if (poll(&signals, 1, wait_ms) > 0)
            read_signals(guardian);
    }
}

bool guardian_is_requested(char *const *argv)
{
    return argv[0] != NULL && strcmp(argv[0], GUARDIAN_NAME) == 0 && argv[1] != NULL &&
           argv[2] != NULL && argv[3] != NULL;
}

_Noreturn void guardian_main(char **argv)
{
    struct guardian guardian = {.daemon = (pid_t)strtol(argv[1], NULL, 10)};
    if (!prepare(&guardian))
        send_news(GUARDIAN_FAILED, errno);
    else if (!is_deserted(&guardian))
        start_probe(&guardian, argv + 2);
    watch(&guardian);
    kill_all(&guardian);
    _exit(0); /* skips exit handlers: nothing to flush, and the end of this process ends the run */
}
