/*
 * Loaded before a daemon (LD_PRELOAD), this makes idle time short: while the daemon has nothing to
 * do but wait, and has no child, its clocks run FAST_CLOCK times as fast as the machine's. While a
 * probe is alive (a child), and while a thread of the daemon computes or uses the disk, they run as
 * the machine's do; so a probe costs on the daemon's clock the time that it took. Probes get an
 * environment without this (daemon/measure/runner.c), and measure with the machine's clock.
 *
 * FAST_CLOCK_AHEAD is where the clocks begin, in seconds ahead of the machine's.
 *
 * A wait that reaches its time limit ends at that very moment of the daemon's clock, so timers are
 * exact. One that an event ends has lasted FAST_CLOCK times as long as on the machine; so a
 * client's pause is long on the daemon's clock.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PUBLIC  __attribute__((visibility("default")))
#define SECOND  INT64_C(1000000000)
#define MS      INT64_C(1000000)
#define FAR_OFF (INT64_C(3600) * SECOND) /* of the machine: the longest wait of no limit */

static _Atomic int64_t ahead_ns; /* of the machine's clocks */
static int64_t factor = 1;
static int (*next_gettime)(clockid_t, struct timespec *);
static int (*next_pwait)(int, struct epoll_event *, int, int, const sigset_t *);

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("FAST_CLOCK"), *ahead = getenv("FAST_CLOCK_AHEAD");
    next_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    next_pwait = (int (*)(int, struct epoll_event *, int, int, const sigset_t *))dlsym(
        RTLD_NEXT, "epoll_pwait");
    if (text == NULL || (factor = strtoll(text, NULL, 10)) < 1 || factor > 1000000) {
        fprintf(stderr, "FAST_CLOCK is 1 to 1000000\n");
        _Exit(64);
    }
    if (ahead != NULL)
        atomic_store(&ahead_ns, strtoll(ahead, NULL, 10) * SECOND);
}

static int64_t machine_ns(void)
{
    struct timespec t;
    next_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * SECOND + t.tv_nsec;
}

PUBLIC int clock_gettime(clockid_t id, struct timespec *ret)
{
    int status = next_gettime(id, ret);
    if (status != 0 || id == CLOCK_PROCESS_CPUTIME_ID || id == CLOCK_THREAD_CPUTIME_ID)
        return status;
    int64_t ns = ret->tv_sec * SECOND + ret->tv_nsec + atomic_load(&ahead_ns);
    *ret = (struct timespec){ns / SECOND, ns % SECOND};
    return 0;
}

PUBLIC time_t time(time_t *ret)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    if (ret != NULL)
        *ret = t.tv_sec;
    return t.tv_sec;
}

PUBLIC int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
    struct timespec t;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &t);
    *ret = (struct timeval){t.tv_sec, t.tv_nsec / 1000};
    return 0;
}

static int has_children(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

/* Reads a thread's state: proc(5), the letter behind its name, which stands in parentheses. */
static char state_of(const char *thread)
{
    char path[64], text[128] = "", *name_end;
    snprintf(path, sizeof path, "/proc/self/task/%.16s/stat", thread);
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
    }
    name_end = strrchr(text, ')');
    return name_end != NULL && name_end[1] == ' ' ? name_end[2] : 'S';
}

/* True while another thread computes or uses the disk. */
static int has_work(void)
{
    DIR *threads = opendir("/proc/self/task");
    int found = 0;
    for (struct dirent *entry; !found && threads != NULL && (entry = readdir(threads)) != NULL;)
        if (entry->d_name[0] != '.' && atoi(entry->d_name) != gettid())
            found = strchr("RD", state_of(entry->d_name)) != NULL;
    if (threads != NULL)
        closedir(threads);
    return found;
}

PUBLIC int epoll_pwait(int fd, struct epoll_event *events, int room, int limit_ms,
                       const sigset_t *mask)
{
    if (factor == 1 || limit_ms == 0 || has_children())
        return next_pwait(fd, events, room, limit_ms, mask);
    while (has_work()) {
        int ready = next_pwait(fd, events, room, 1, mask);
        if (ready != 0 || limit_ms == 1)
            return ready;
        limit_ms -= limit_ms > 0;
    }
    int64_t begin_ns = machine_ns(), limit_ns = limit_ms * MS;
    int64_t most_ns = limit_ms < 0 ? FAR_OFF : limit_ns / factor;
    struct timespec most = {most_ns / SECOND, most_ns % SECOND};
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    int found = ppoll(&poll_fd, 1, &most, mask), error = errno;
    int64_t took_ns = machine_ns() - begin_ns, gain_ns = took_ns * (factor - 1);
    if (limit_ms >= 0 && (found == 0 || took_ns + gain_ns > limit_ns))
        gain_ns = limit_ns > took_ns ? limit_ns - took_ns : 0;
    atomic_fetch_add(&ahead_ns, gain_ns);
    errno = error;
    return found < 0 ? found : next_pwait(fd, events, room, 0, mask);
}

PUBLIC int epoll_wait(int fd, struct epoll_event *events, int room, int limit_ms)
{
    return epoll_pwait(fd, events, room, limit_ms, NULL);
}
