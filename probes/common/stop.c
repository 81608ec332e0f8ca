#include "common/stop.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/clock.h"

static void stop_signals(sigset_t *ret_set)
{
    sigemptyset(ret_set);
    sigaddset(ret_set, SIGTERM);
    sigaddset(ret_set, SIGINT);
}

/* A parent that ended before this check is detected by the other end of the output. */
static bool is_read(int fd)
{
    struct pollfd output = {.fd = fd};
    return poll(&output, 1, 0) <= 0 || (output.revents & (POLLERR | POLLHUP)) == 0;
}

bool probe_stop_prepare(bool child, struct probe_why *why)
{
    pid_t parent = getppid();
    if (child &&
        (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent || !is_read(STDOUT_FILENO)))
        return probe_why_set(why, "the process that started this one is gone");
    /* The parent may ignore SIGPIPE, which is inherited. */
    signal(SIGPIPE, SIG_DFL);
    sigset_t set;
    stop_signals(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return true;
}

static void *wait_for_signal(void *arg)
{
    const struct probe_stop *stop = arg;
    sigset_t set;
    int number;
    stop_signals(&set);
    while (sigwait(&set, &number) != 0)
        ;
    if (stop->out != NULL) {
        struct probe_line line;
        probe_line_begin(&line, "end");
        probe_line_text(&line, "status", "cancelled");
        probe_line_integer(&line, "elapsed_ns", probe_clock_ns() - stop->started_ns);
        probe_line_write_last(&line, stop->out, 5000000);
    }
    _exit(PROBE_STOP_STATUS);
}

bool probe_stop_start(struct probe_stop *stop, struct probe_why *why)
{
    pthread_t thread;
    int failure = pthread_create(&thread, NULL, wait_for_signal, stop);
    if (failure != 0)
        return probe_why_set(why, "cannot start a thread: %s", strerror(failure));
    pthread_detach(thread);
    return true;
}
