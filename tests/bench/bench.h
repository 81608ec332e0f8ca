/**
 * What the benches share: a clock, medians of batches, and a blocking Varlink call. A bench that
 * cannot go on says why and exits.
 */
#pragma once
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define BENCH_REPLY_MAX (32u << 20)

__attribute__((noreturn)) static inline void bench_die(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static inline double bench_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Of this thread. What else runs on a CPU makes it hardly longer. */
static inline double bench_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline int bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts item and returns its median. */
static inline double bench_median(double *item, size_t count)
{
    qsort(item, count, sizeof *item, bench_compare);
    return count % 2 == 1 ? item[count / 2] : (item[count / 2 - 1] + item[count / 2]) / 2;
}

/* The lowest median of BENCH_BATCHES batches of measurements in the order they were taken: what the
 * machine does while nothing else wants it. Sorts within the batches. */
#define BENCH_BATCHES 10
static inline double bench_quietest(double *item, size_t count)
{
    double best = bench_median(item, count / BENCH_BATCHES);
    for (size_t batch = 1; batch < BENCH_BATCHES; batch++) {
        double median = bench_median(item + batch * (count / BENCH_BATCHES), count / BENCH_BATCHES);
        best = median < best ? median : best;
    }
    return best;
}

/* Connects to a Unix socket; -1 when nobody listens there. */
static inline int bench_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        bench_die(path);
    }
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        bench_die("socket");
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Sends call with its NUL and reads one NUL-terminated reply of BENCH_REPLY_MAX bytes at most into
 * reply. */
static inline void bench_call(int fd, const char *call, size_t length, char *reply)
{
    if (send(fd, call, length + 1, MSG_NOSIGNAL) != (ssize_t)length + 1)
        bench_die("send");
    size_t have = 0;
    do {
        ssize_t got = read(fd, reply + have, BENCH_REPLY_MAX - have);
        if (got <= 0)
            bench_die("read");
        have += (size_t)got;
    } while (reply[have - 1] != '\0' && have < BENCH_REPLY_MAX);
}
