/* How long a daemon takes from its start to the first answer that holds what is wanted:
 * start TURNS SOCKET CALL WANTED DAEMON [ARG]... prints "start median_ns". */
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "bench.h"

#define GIVE_UP_NS 10e9

static double answered_ns(const char *path, const char *call, const char *wanted, char **daemon,
                          char *reply)
{
    pid_t pid;
    int fd, status;
    double begin = bench_now_ns();
    errno = posix_spawn(&pid, daemon[0], NULL, NULL, daemon, environ);
    if (errno != 0)
        bench_die(daemon[0]);
    do {
        while ((fd = bench_connect(path)) < 0 && bench_now_ns() - begin < GIVE_UP_NS)
            nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
        if (fd < 0)
            bench_die(path);
        bench_call(fd, call, strlen(call), reply);
        close(fd);
    } while (strstr(reply, wanted) == NULL && bench_now_ns() - begin < GIVE_UP_NS);
    double took = bench_now_ns() - begin;
    if (strstr(reply, wanted) == NULL) {
        fprintf(stderr, "no answer with %s, only %.300s\n", wanted, reply);
        exit(1);
    }
    kill(pid, SIGTERM);
    waitpid(pid, &status, 0);
    return took;
}

int main(int argc, char **argv)
{
    size_t turns = argc > 5 ? strtoul(argv[1], NULL, 10) : 0;
    if (turns == 0)
        bench_die("start TURNS SOCKET CALL WANTED DAEMON [ARG]...");
    double *took_ns = malloc(turns * sizeof *took_ns);
    char *reply = malloc(BENCH_REPLY_MAX);
    if (took_ns == NULL || reply == NULL)
        bench_die("no memory");
    for (size_t turn = 0; turn < turns; turn++)
        took_ns[turn] = answered_ns(argv[2], argv[3], argv[4], argv + 5, reply);
    printf("start %.0f\n", bench_median(took_ns, turns));
    free(took_ns);
    free(reply);
    return 0;
}
