/* Whether a large answer holds up other clients: beside SOCKET SMALL LARGE TURNS. One connection
 * asks SMALL all the time, first alone, then while another process asks LARGE again and again and
 * reads it slowly: a piece, a pause. Prints "large ns" (the median time of LARGE asked alone and
 * read at once, TURNS times), "bytes n" and "cells n" of it, "alone ns", "alone_worst ns", "beside
 * ns", "beside_worst ns" (worst: the 99.9th percentile) and "larges n", how many were read beside.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "bench.h"

#define SMALL_CALLS 2000 /* at least */
#define PIECE_BYTES (256u << 10)
#define PAUSE_NS    500000
#define LARGES      5

static double percentile(const double *sorted, size_t count, double share)
{
    return sorted[(size_t)((double)(count - 1) * share)];
}

/* Reads replies to LARGE in pieces until it is killed; counts them in *done. */
__attribute__((noreturn)) static void read_slowly(const char *path, const char *call, char *reply,
                                                  volatile unsigned *done)
{
    int fd = bench_connect(path);
    if (fd < 0)
        bench_die(path);
    for (;;) {
        if (send(fd, call, strlen(call) + 1, MSG_NOSIGNAL) < 0)
            bench_die("send");
        ssize_t got;
        do {
            got = read(fd, reply, PIECE_BYTES);
            if (got <= 0)
                bench_die("read");
            nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
        } while (reply[got - 1] != '\0');
        ++*done;
    }
}

static size_t ask_small(int fd, const char *call, char *reply, double *took_ns, size_t room,
                        const volatile unsigned *done)
{
    size_t count = 0;
    while (count < room && (count < SMALL_CALLS || (done != NULL && *done < LARGES))) {
        double begin = bench_now_ns();
        bench_call(fd, call, strlen(call), reply);
        took_ns[count++] = bench_now_ns() - begin;
    }
    qsort(took_ns, count, sizeof *took_ns, bench_compare);
    return count;
}

int main(int argc, char **argv)
{
    size_t turns = argc == 5 ? strtoul(argv[4], NULL, 10) : 0, room = 1000000;
    if (turns == 0)
        bench_die("beside SOCKET SMALL LARGE TURNS");
    double *took_ns = malloc(room * sizeof *took_ns);
    char *reply = malloc(BENCH_REPLY_MAX);
    volatile unsigned *done =
        mmap(NULL, sizeof *done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int fd = bench_connect(argv[1]);
    if (took_ns == NULL || reply == NULL || done == MAP_FAILED || fd < 0)
        bench_die(argv[1]);
    for (size_t turn = 0; turn < turns; turn++) {
        double begin = bench_now_ns();
        bench_call(fd, argv[3], strlen(argv[3]), reply);
        took_ns[turn] = bench_now_ns() - begin;
    }
    size_t bytes = strlen(reply), cells = 0;
    for (const char *c = reply; (c = strstr(c, "\"from\":\"")) != NULL; c++)
        cells++;
    printf("large %.0f\nbytes %zu\ncells %zu\n", bench_median(took_ns, turns), bytes, cells);

    size_t count = ask_small(fd, argv[2], reply, took_ns, room, NULL);
    printf("alone %.0f\nalone_worst %.0f\n", percentile(took_ns, count, 0.5),
           percentile(took_ns, count, 0.999));
    pid_t pid = fork();
    if (pid < 0)
        bench_die("fork");
    if (pid == 0)
        read_slowly(argv[1], argv[3], reply, done);
    count = ask_small(fd, argv[2], reply, took_ns, room, done);
    unsigned larges = *done;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    printf("beside %.0f\nbeside_worst %.0f\nlarges %u\n", percentile(took_ns, count, 0.5),
           percentile(took_ns, count, 0.999), larges);
    free(took_ns);
    free(reply);
    return larges >= LARGES ? 0 : 1;
}
