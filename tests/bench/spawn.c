/* How long commands take as processes, in turns: spawn TURNS NAME COMMAND [ARG]... [-- NAME COMMAND
 * [ARG]...]... prints a line "NAME ns" each: the median of the quietest tenth. Their output is
 * thrown away; one that fails ends the bench. */
#include <assert.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "bench.h"

#define COMMANDS_MAX 8

static double run_ns(char **command, const posix_spawn_file_actions_t *quiet)
{
    assert(command[0] != NULL);
    pid_t pid;
    int status = 0;
    double begin = bench_now_ns();
    errno = posix_spawn(&pid, command[0], quiet, NULL, command, environ);
    if (errno != 0 || waitpid(pid, &status, 0) < 0)
        bench_die(command[0]);
    double took = bench_now_ns() - begin;
    if (status != 0) {
        fprintf(stderr, "%s ended with status %#x\n", command[0], (unsigned)status);
        exit(1);
    }
    return took;
}

int main(int argc, char **argv)
{
    size_t turns = argc > 1 ? strtoul(argv[1], NULL, 10) : 0, count = 0;
    char **command[COMMANDS_MAX];
    for (int i = 2; i < argc && count < COMMANDS_MAX; i++) {
        command[count++] = argv + i;
        while (i < argc && strcmp(argv[i], "--") != 0)
            i++;
        argv[i] = NULL;
    }
    const char *usage = "spawn TURNS NAME COMMAND [ARG]... [-- NAME COMMAND [ARG]...]...";
    if (count == 0 || turns < BENCH_BATCHES)
        bench_die(usage);
    double *took_ns = malloc(count * turns * sizeof *took_ns);
    posix_spawn_file_actions_t quiet;
    if (took_ns == NULL || posix_spawn_file_actions_init(&quiet) != 0 ||
        posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) != 0)
        bench_die("no memory");
    for (size_t i = 0; i < count; i++)
        run_ns(command[i] + 1, &quiet); /* into the page cache */
    for (size_t turn = 0; turn < turns; turn++)
        for (size_t i = 0; i < count; i++)
            took_ns[i * turns + turn] = run_ns(command[i] + 1, &quiet);
    for (size_t i = 0; i < count; i++)
        printf("%s %.0f\n", command[i][0], bench_quietest(took_ns + i * turns, turns));
    posix_spawn_file_actions_destroy(&quiet);
    free(took_ns);
    return 0;
}
