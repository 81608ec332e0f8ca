#include "advice_ranks.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "advice_step.h"
#include "common/clock.h"

#define AWAKE_NS 100000000 /* longer than between two times of one step */

struct rank {
    pid_t pid;
    int socket; /* lines go there, 64-bit answers come back; its end is the process's */
};

struct ranks {
    _Atomic uint64_t *go; /* shared by all: how many steps have begun */
    bool stay_awake;      /* there is a processor for each of them, and one more */
    size_t count;
    struct rank rank[GPU_DEVICES_MAX];
};

/* ---- in a rank's process ---- */

static void answer(int socket, int64_t value)
{
    if (send(socket, &value, sizeof value, MSG_NOSIGNAL) != sizeof value)
        _exit(0);
}

/* Looks for the next line again and again for a while, as the ranks of MPI do that wait for each
 * other: what waking a processor takes, and what it is slower for afterwards, is in no step. */
static void stay_awake(int socket)
{
    char next;
    for (int64_t end_ns = probe_clock_ns() + AWAKE_NS; probe_clock_ns() < end_ns;)
        if (recv(socket, &next, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 ||
            (errno != EAGAIN && errno != EINTR))
            return;
}

/* A line with flows is read, an empty one carries them out. Where processors are fewer than ranks
 * each sleeps in a read between two steps, so that it takes none from the others, and spins only
 * until the last of them is ready. */
_Noreturn static void be_rank(const struct rank_calls *calls, size_t number, int socket,
                              const struct ranks *ranks)
{
    const _Atomic uint64_t *go = ranks->go;
    FILE *lines = fdopen(socket, "r");
    bool is_open = false;
    char *line = NULL;
    size_t size = 0;
    if (lines == NULL)
        advice_step_die("a rank cannot read", strerror(errno));
    for (;;) {
        if (ranks->stay_awake)
            stay_awake(socket);
        if (getline(&line, &size, lines) <= 0)
            _exit(0);
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '\0') {
            if (!is_open)
                calls->open(calls->arg, number);
            is_open = true;
            calls->read(calls->arg, line);
            answer(socket, 0);
            continue;
        }
        uint64_t before = atomic_load(go);
        calls->prepare(calls->arg);
        answer(socket, 0);
        while (atomic_load(go) == before)
            ;
        calls->carry_out(calls->arg);
        answer(socket, probe_clock_ns());
    }
}

/* ---- in the process that asks them ---- */

/* One that could not go on has said why itself. */
_Noreturn static void end_all(struct ranks *ranks, size_t number)
{
    int status = 0;
    waitpid(ranks->rank[number].pid, &status, 0);
    ranks->rank[number].pid = 0;
    if (WIFSIGNALED(status))
        fprintf(stderr, "advice_run: rank %zu was ended by signal %d\n", number, WTERMSIG(status));
    else if (WEXITSTATUS(status) != ADVICE_EXIT)
        fprintf(stderr, "advice_run: rank %zu ended with %d\n", number, WEXITSTATUS(status));
    ranks_free(ranks);
    exit(ADVICE_EXIT);
}

static int64_t hear(struct ranks *ranks, size_t number)
{
    int64_t value;
    if (recv(ranks->rank[number].socket, &value, sizeof value, MSG_WAITALL) != sizeof value)
        end_all(ranks, number);
    return value;
}

static void tell(struct ranks *ranks, size_t number, const char *text)
{
    for (size_t length = strlen(text); length > 0;) {
        ssize_t sent = send(ranks->rank[number].socket, text, length, MSG_NOSIGNAL);
        if (sent <= 0)
            end_all(ranks, number);
        text += sent;
        length -= (size_t)sent;
    }
}

/* Those that this process may run on. */
static size_t processors(void)
{
    cpu_set_t cpus;
    return sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? (size_t)CPU_COUNT(&cpus) : 0;
}

static struct ranks *make(void)
{
    struct ranks *ranks = calloc(1, sizeof *ranks);
    if (ranks == NULL)
        advice_step_die("no ranks", strerror(errno));
    return ranks;
}

struct ranks *ranks_new(size_t count, const struct rank_calls *calls)
{
    struct ranks *ranks = make();
    void *shared =
        mmap(NULL, sizeof *ranks->go, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t parent = getpid();
    int ends[2];
    if (shared == MAP_FAILED || count > GPU_DEVICES_MAX)
        advice_step_die("no ranks", count > GPU_DEVICES_MAX ? "too many" : strerror(errno));
    ranks->go = shared;
    atomic_init(ranks->go, 0);
    ranks->stay_awake = count < processors();
    for (; ranks->count < count; ranks->count++) {
        pid_t pid = -1;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0)
            pid = fork();
        if (pid == 0) {
            for (size_t i = 0; i < ranks->count; i++)
                close(ranks->rank[i].socket);
            close(ends[0]);
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent)
                _exit(0);
            be_rank(calls, ranks->count, ends[1], ranks);
        }
        if (pid < 0)
            advice_step_die("no process for a rank", strerror(errno));
        close(ends[1]);
        ranks->rank[ranks->count] = (struct rank){.pid = pid, .socket = ends[0]};
    }
    return ranks;
}

void ranks_free(struct ranks *ranks)
{
    for (size_t i = 0; ranks != NULL && i < ranks->count; i++) {
        close(ranks->rank[i].socket);
        if (ranks->rank[i].pid > 0 && kill(ranks->rank[i].pid, SIGKILL) == 0)
            waitpid(ranks->rank[i].pid, NULL, 0);
    }
    if (ranks != NULL)
        munmap((void *)ranks->go, sizeof *ranks->go);
    free(ranks);
}

void ranks_read(struct ranks *ranks, char *const flows[], size_t count)
{
    if (count == 0)
        advice_step_die("a step without flows", "");
    if (count > ranks->count)
        advice_step_die("a step of more callers than --ranks", "");
    for (size_t i = 0; i < count; i++) {
        tell(ranks, i, flows[i]);
        tell(ranks, i, "\n");
    }
    for (size_t i = 0; i < count; i++)
        hear(ranks, i);
}

double ranks_carry_out(struct ranks *ranks, size_t count)
{
    int64_t last_ns = 0;
    for (size_t i = 0; i < count; i++)
        tell(ranks, i, "\n");
    for (size_t i = 0; i < count; i++)
        hear(ranks, i);
    int64_t start_ns = probe_clock_ns();
    atomic_fetch_add(ranks->go, 1);
    for (size_t i = 0; i < count; i++) {
        int64_t end_ns = hear(ranks, i);
        last_ns = end_ns > last_ns ? end_ns : last_ns;
    }
    return (double)(last_ns - start_ns);
}
