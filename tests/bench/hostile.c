/* How long a good peer waits while others attack the same server: hostile ATTACK SECONDS PEER_CPU
 * ATTACK_CPU SOCKET. The peer asks GetStatus on one connection, again and again, as a user of its
 * own on PEER_CPU, where the server runs; the attackers are other users, each a process on
 * ATTACK_CPU. Prints "p50 p99 worst calls", times in ns. "hostile list" prints the attacks. It
 * needs root, to be several users. */
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "bench.h"

#define GOOD_UID    65400
#define HOSTILE_UID 65401 /* and those behind it */
#define PIECE       65536
#define SETTLE_NS   200e6 /* from the first hostile connection to the first call that counts */
#define CALLS_MAX   4000000
#define LARGE_BYTES (1u << 20)
#define LARGE_ITEMS 520000
#define NAME_BYTES  60000
#define STATUS      "{\"method\":\"io.berth.Fabric.GetStatus\"}"
#define BIND        "{\"method\":\"io.berth.Placement.Bind\",\"parameters\":{\"tasks\":4}}"
#define BIND_MANY   "{\"method\":\"io.berth.Placement.Bind\",\"parameters\":{\"tasks\":1000000}}"
#define NODE        "{\"method\":\"io.berth.Fabric.GetNode\"}"

struct attack {
    const char *name, *about, *call; /* call NULL: one that make builds */
    char *(*make)(void);
    unsigned users, connections; /* of each user */
    bool reads, once;            /* reads the answers; waits for one before the next call */
};

/* A call that no method would take, with an array of 520,000 items. */
static char *make_array(void)
{
    static const char before[] = "{\"method\":\"io.berth.Fabric.GetMatrix\",\"parameters\":{"
                                 "\"metric\":\"numa_distance\",\"from\":[0";
    char *text = malloc(LARGE_BYTES + 1);
    if (text == NULL)
        bench_die("no memory");
    strcpy(text, before);
    size_t length = strlen(before);
    for (size_t i = 0; i < LARGE_ITEMS; i++, length += 2)
        memcpy(text + length, ",0", 2);
    strcpy(text + length, "]}}");
    return text;
}

/* Objects in objects, 1,900 deep, as often as fit in 60 KB. */
static char *make_deep(void)
{
    enum { DEPTH = 1900, ROOM = 60000 };
    char *text = malloc(ROOM + 100), *at = text;
    if (text == NULL)
        bench_die("no memory");
    at += sprintf(at, "{\"method\":\"io.berth.Fabric.GetStatus\",\"x\":[0");
    while (at - text + 7 * DEPTH < ROOM) {
        *at++ = ',';
        for (int i = 0; i < DEPTH; i++, at += 5)
            memcpy(at, "{\"a\":", 5);
        *at++ = '0';
        memset(at, '}', DEPTH);
        at += DEPTH;
    }
    strcpy(at, "]}");
    return text;
}

/* The name of a method that no interface has. */
static char *make_name(void)
{
    static const char before[] = "{\"method\":\"";
    char *text = malloc(sizeof before + NAME_BYTES + sizeof "\"}");
    if (text == NULL)
        bench_die("no memory");
    strcpy(text, before);
    memset(text + sizeof before - 1, 'x', NAME_BYTES);
    strcpy(text + sizeof before - 1 + NAME_BYTES, "\"}");
    return text;
}

/* A way beside 100 other transfers, about 6 KB. */
static char *make_route(void)
{
    enum { MEANWHILE = 100 };
    char *text = malloc(64 * (MEANWHILE + 4)), *at = text;
    if (text == NULL)
        bench_die("no memory");
    at += sprintf(at, "{\"method\":\"io.berth.Placement.Route\",\"parameters\":{\"from\":\"gpu0\","
                      "\"to\":\"gpu1\",\"bytes\":1048576,\"meanwhile\":[");
    for (int i = 0; i < MEANWHILE; i++)
        at += sprintf(at, "%s{\"from\":\"gpu%d\",\"to\":\"gpu%d\",\"bytes\":%d}", i > 0 ? "," : "",
                      i % 8, (i % 8 + 1 + i / 8 % 7) % 8, 1048576 + i);
    strcpy(at, "]}}");
    return text;
}

static const struct attack attacks[] = {
    {"idle", "no attack", STATUS, NULL, 0, 0, false, false},
    {"node-unread", "500 connections ask GetNode, read nothing", NODE, NULL, 1, 500, false, false},
    {"bind-unread", "500 connections ask Bind, read nothing", BIND, NULL, 1, 500, false, false},
    {"arrays", "64 connections, 1 MiB messages of 520,000 items", NULL, make_array, 1, 64, true,
     false},
    {"array", "1 connection, one such message at a time", NULL, make_array, 1, 1, true, true},
    {"deep", "64 connections, 60 KB messages nested 1,900 deep", NULL, make_deep, 1, 64, true,
     false},
    {"names", "64 connections, 60 KB names of no method", NULL, make_name, 1, 64, true, false},
    {"name", "1 connection, 60 KB names of no method", NULL, make_name, 1, 1, true, false},
    {"route", "64 connections, Route beside 100 transfers", NULL, make_route, 1, 64, true, false},
    {"bind-many", "64 connections, Bind of 1,000,000 tasks", BIND_MANY, NULL, 1, 64, true, false},
    {"status-users", "4 users of 450 connections, GetStatus pipelined", STATUS, NULL, 4, 450, true,
     false},
    {"bind-read", "64 connections, Bind pipelined, read at once", BIND, NULL, 1, 64, true, false},
    {"pipelined", "64 connections, GetStatus pipelined", STATUS, NULL, 1, 64, true, false},
};

static void be(uid_t uid, int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0 || setgroups(0, NULL) != 0 ||
        setgid(uid) != 0 || setuid(uid) != 0)
        bench_die("another user on a CPU of its own (only root can be)");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* One hostile connection. */
struct link {
    int fd;
    size_t at;    /* of the text, sent */
    bool waiting; /* for an answer */
};

static void watch(int poll, struct link *link, bool writes, int how)
{
    struct epoll_event event = {.events = EPOLLIN | (writes ? EPOLLOUT : 0), .data.ptr = link};
    epoll_ctl(poll, how, link->fd, &event);
}

/* A server that closes a connection gets another one. */
static void connect_again(int poll, struct link *link, const char *path)
{
    if (link->fd >= 0)
        close(link->fd);
    *link = (struct link){.fd = bench_connect(path)};
    if (link->fd < 0)
        return;
    fcntl(link->fd, F_SETFL, O_NONBLOCK);
    watch(poll, link, true, EPOLL_CTL_ADD);
}

/* False when the server has closed it. */
static bool push(int poll, struct link *link, const struct attack *attack, const char *text,
                 size_t size)
{
    while (!link->waiting) {
        size_t piece = size - link->at < PIECE ? size - link->at : PIECE;
        ssize_t sent = send(link->fd, text + link->at, piece, MSG_NOSIGNAL);
        if (sent < 0)
            return errno == EAGAIN;
        link->at += (size_t)sent;
        if (link->at < size)
            continue;
        link->at = 0;
        if (!attack->once)
            return true; /* others' turn */
        link->waiting = true;
        watch(poll, link, false, EPOLL_CTL_MOD);
    }
    return true;
}

static bool pull(int poll, struct link *link, char *room)
{
    ssize_t got = recv(link->fd, room, PIECE, 0);
    if (got == 0 || (got < 0 && errno != EAGAIN))
        return false;
    if (got > 0 && link->waiting && room[got - 1] == '\0') {
        link->waiting = false;
        watch(poll, link, true, EPOLL_CTL_MOD);
    }
    return true;
}

__attribute__((noreturn)) static void be_hostile(const struct attack *attack, const char *path)
{
    /* Many small calls go in one write. */
    static char room[PIECE], many[PIECE];
    const char *text = attack->call != NULL ? attack->call : attack->make();
    size_t size = strlen(text) + 1, calls = attack->once || size > PIECE / 2 ? 1 : PIECE / size;
    for (size_t i = 0; calls > 1 && i < calls; i++)
        memcpy(many + i * size, text, size);
    if (calls > 1)
        text = many, size *= calls;
    struct link *links = calloc(attack->connections, sizeof *links);
    int poll = epoll_create1(EPOLL_CLOEXEC);
    if (links == NULL || poll < 0)
        bench_die("attack");
    for (unsigned i = 0; i < attack->connections; i++) {
        links[i].fd = -1;
        connect_again(poll, &links[i], path);
    }
    for (;;) {
        struct epoll_event event[256];
        int ready = epoll_wait(poll, event, 256, -1);
        for (int i = 0; i < ready; i++) {
            struct link *link = event[i].data.ptr;
            bool open = true;
            if ((event[i].events & EPOLLIN) != 0 && attack->reads)
                open = pull(poll, link, room);
            if (open && (event[i].events & EPOLLOUT) != 0)
                open = push(poll, link, attack, text, size);
            if (!open || (event[i].events & (EPOLLHUP | EPOLLERR)) != 0)
                connect_again(poll, link, path);
        }
    }
}

static int be_good(double seconds, const char *path)
{
    double *took_ns = malloc(CALLS_MAX * sizeof *took_ns);
    char *reply = malloc(BENCH_REPLY_MAX);
    int fd = bench_connect(path);
    if (took_ns == NULL || reply == NULL || fd < 0)
        bench_die(path);
    double begin = bench_now_ns() + SETTLE_NS, end = begin + seconds * 1e9, now = begin - SETTLE_NS;
    size_t count = 0;
    while (now < end && count < CALLS_MAX) {
        bench_call(fd, STATUS, strlen(STATUS), reply);
        double then = bench_now_ns();
        if (then >= begin)
            took_ns[count++] = then - now;
        now = then;
    }
    if (count == 0)
        bench_die("no call in all that time");
    qsort(took_ns, count, sizeof *took_ns, bench_compare);
    printf("%.0f %.0f %.0f %zu\n", took_ns[count / 2],
           took_ns[(size_t)((double)(count - 1) * 0.99)], took_ns[count - 1], count);
    return 0;
}

int main(int argc, char **argv)
{
    const struct attack *attack = NULL;
    size_t known = sizeof attacks / sizeof *attacks;
    for (size_t i = 0; argc == 2 && i < known; i++)
        printf("%s\t%s\n", attacks[i].name, attacks[i].about);
    if (argc == 2)
        return 0;
    for (size_t i = 0; argc == 6 && i < known; i++)
        if (strcmp(attacks[i].name, argv[1]) == 0)
            attack = &attacks[i];
    if (attack == NULL)
        bench_die("hostile ATTACK SECONDS PEER_CPU ATTACK_CPU SOCKET");
    pid_t hostile[8] = {0};
    for (unsigned i = 0; i < attack->users; i++) {
        hostile[i] = fork();
        if (hostile[i] == 0) {
            be(HOSTILE_UID + i, atoi(argv[4]));
            be_hostile(attack, argv[5]);
        }
    }
    pid_t good = fork();
    if (good == 0) {
        be(GOOD_UID, atoi(argv[3]));
        exit(be_good(atof(argv[2]), argv[5]));
    }
    int status = 1;
    waitpid(good, &status, 0);
    for (unsigned i = 0; i < attack->users; i++) {
        kill(hostile[i], SIGKILL);
        waitpid(hostile[i], NULL, 0);
    }
    return status == 0 ? 0 : 1;
}
