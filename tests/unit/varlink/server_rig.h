/* A server in the test's process, on a socket of its own, with a small table of methods. The peers
 * are plain descriptors. No test hangs: an event that does not come within the patience fails, and
 * a stuck test is killed. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "varlink/listen.h"
#include "varlink/server.h"

enum {
    PATIENCE_S = 10, /* for one event; much more than a loaded machine needs */
    TEST_S = 60,     /* for a test; then SIGALRM ends the program */
    BIG = 100 * 1000,
};

struct daemon {
    uv_loop_t loop;
    struct notifier notifier;
    struct server *server;
    struct server_config config;
    char directory[32], path[64];
    int lock_fd;
    bool closed;

    unsigned calls;  /* that reached a handler */
    unsigned states; /* of WORK and STREAM, not freed */
    unsigned pulled; /* replies pulled from streams */
    unsigned begun;  /* work functions; atomic */
    sem_t release;   /* lets one work function end */
};

/* Methods with names of the interface files and answers of this test. */

static inline const struct snapshot *no_snapshot(struct daemon *daemon)
{
    (void)daemon;
    return NULL;
}

/* State of work and streams. */
struct task {
    struct daemon *daemon;
    bool more;
    int left;
    enum berth_code code;
};

static inline struct task *task_new(const struct call *call, int left)
{
    struct task *task = malloc(sizeof *task);
    *task = (struct task){.daemon = call->daemon, .more = call->more, .left = left};
    call->daemon->states++;
    return task;
}

static inline void task_free(void *state)
{
    struct task *task = state;
    task->daemon->states--;
    free(task);
}

static inline enum berth_code get_status(const struct call *call, struct outcome *ret,
                                         struct berth_err *err)
{
    (void)err;
    *ret = (struct outcome){.kind = OUTCOME_RESULT,
                            .result = json_pack("{s:i}", "calls", (int)++call->daemon->calls)};
    return BERTH_OK;
}

static inline enum berth_code big_result(const struct call *call, struct outcome *ret,
                                         struct berth_err *err)
{
    (void)err;
    call->daemon->calls++;
    char *text = malloc(BIG);
    memset(text, 'x', BIG);
    *ret = (struct outcome){.kind = OUTCOME_RESULT,
                            .result = json_pack("{s:o}", "text", json_stringn(text, BIG))};
    free(text);
    return BERTH_OK;
}

static inline enum berth_code wait_for_release(void *state, json_t **ret_result,
                                               struct berth_err *err)
{
    struct task *task = state;
    __atomic_add_fetch(&task->daemon->begun, 1, __ATOMIC_RELAXED);
    sem_wait(&task->daemon->release);
    if (task->code != BERTH_OK)
        return err_set(err, task->code, "as asked");
    *ret_result = json_pack("{s:b}", "worked", 1);
    return BERTH_OK;
}

/* GetMatrix: work, which fails when the metric is "fail". */
static inline enum berth_code get_matrix(const struct call *call, struct outcome *ret,
                                         struct berth_err *err)
{
    call->daemon->calls++;
    const char *metric = json_string_value(json_object_get(call->params, "metric"));
    if (strcmp(metric, "none") == 0) {
        err_text(err, 0, "na\xc3\xafve \"x\" \xff\\");
        return err_set(err, BERTH_NO_SUCH_METRIC, "no");
    }
    struct task *task = task_new(call, 0);
    task->code = strcmp(metric, "fail") == 0 ? BERTH_BAD_DATA : BERTH_OK;
    *ret = (struct outcome){
        .kind = OUTCOME_WORK, .state = task, .work = wait_for_release, .free_state = task_free};
    return BERTH_OK;
}

static inline enum stream_step count_down(void *state, json_t **ret_reply, struct berth_err *err)
{
    struct task *task = state;
    if (task->left < 0)
        return err_set(err, BERTH_BUSY, "as asked"), STREAM_ERROR;
    task->daemon->pulled++;
    *ret_reply = json_pack("{s:i}", "left", task->left);
    return task->left-- == 0 ? STREAM_LAST : STREAM_REPLY;
}

/* Probe: an administrator's stream of budget_ns replies, an error at once when that is negative. */
static inline enum berth_code probe(const struct call *call, struct outcome *ret,
                                    struct berth_err *err)
{
    (void)err;
    call->daemon->calls++;
    int left = (int)json_integer_value(json_object_get(call->params, "budget_ns"));
    *ret = (struct outcome){.kind = OUTCOME_STREAM,
                            .state = task_new(call, left),
                            .next = count_down,
                            .free_state = task_free};
    return BERTH_OK;
}

static inline enum stream_step one_a_wake(void *state, json_t **ret_reply, struct berth_err *err)
{
    (void)err;
    struct task *task = state;
    int calls = (int)task->daemon->calls;
    if (task->left == calls)
        return STREAM_WAIT;
    task->left = calls;
    *ret_reply = json_pack("{s:i}", "calls", calls);
    return task->more ? STREAM_REPLY : STREAM_LAST;
}

/* Watch: a reply at once and after every wake at which something was called. */
static inline enum berth_code watch(const struct call *call, struct outcome *ret,
                                    struct berth_err *err)
{
    (void)err;
    *ret = (struct outcome){.kind = OUTCOME_STREAM,
                            .state = task_new(call, -1),
                            .next = one_a_wake,
                            .free_state = task_free};
    return BERTH_OK;
}

static inline enum stream_step endless(void *state, json_t **ret_reply, struct berth_err *err)
{
    (void)err;
    struct task *task = state;
    task->daemon->pulled++;
    char text[1000];
    memset(text, 'y', sizeof text);
    *ret_reply = json_pack("{s:o}", "text", json_stringn(text, sizeof text));
    return STREAM_REPLY;
}

/* Record: work first, then a stream without end. */
static inline enum berth_code record(const struct call *call, struct outcome *ret,
                                     struct berth_err *err)
{
    (void)err;
    *ret = (struct outcome){.kind = OUTCOME_STREAM,
                            .state = task_new(call, 0),
                            .work = wait_for_release,
                            .next = endless,
                            .free_state = task_free};
    return BERTH_OK;
}

static const struct method rows[] = {
    {"io.berth.Fabric.GetStatus", ACCESS_ANY, get_status},
    {"io.berth.Fabric.GetNode", ACCESS_ANY, big_result},
    {"io.berth.Fabric.GetMatrix", ACCESS_ANY, get_matrix},
    {"io.berth.Fabric.Watch", ACCESS_ANY, watch},
    {"io.berth.Fabric.Record", ACCESS_ANY, record},
    {"io.berth.Health.Probe", ACCESS_ADMIN, probe},
    {NULL, ACCESS_ANY, NULL},
};

/* The loop, set up and torn down for each test. */

static inline void turn(struct daemon *d)
{
    uv_run(&d->loop, UV_RUN_NOWAIT);
    usleep(200);
}

/* Returns the end of the patience that begins now, on the clock of uv_hrtime. */
static inline uint64_t patience_end(void)
{
    return uv_hrtime() + PATIENCE_S * UINT64_C(1000000000);
}

/* Limits of a daemon without a configuration file. */
static inline struct server_limits default_limits(void)
{
    struct config config;
    assert_int_equal(config_init(&config, NULL), BERTH_OK);
    const struct server_limits limits = server_limits_of(&config);
    config_done(&config);
    return limits;
}

static inline void start(struct daemon *d, const struct server_limits *limits)
{
    struct berth_err err = {0};
    d->config.limits = *limits;
    if (server_new(&d->loop, &d->config, &d->server, &err) != BERTH_OK)
        fail_msg("%s", err.detail);
    int fd = -1;
    if (listen_path(d->path, 0666, NULL, &fd, &d->lock_fd, &err) != BERTH_OK ||
        server_listen(d->server, fd, d->path, &err) != BERTH_OK)
        fail_msg("%s", err.detail);
    d->closed = false;
}

static inline void on_server_closed(void *arg) { ((struct daemon *)arg)->closed = true; }

static inline void stop(struct daemon *d)
{
    server_close(d->server, on_server_closed, d);
    for (uint64_t end = patience_end(); !d->closed && uv_hrtime() < end;)
        turn(d);
    assert_true(d->closed);
    assert_int_equal(d->states, 0);
    assert_null(d->notifier.first);
    assert_int_not_equal(access(d->path, F_OK), 0);
    close(d->lock_fd);
}

static inline void restart(struct daemon *d, const struct server_limits *limits)
{
    stop(d);
    start(d, limits);
}

static inline int set_up(void **state)
{
    struct daemon *d = calloc(1, sizeof *d);
    alarm(TEST_S);
    uv_loop_init(&d->loop);
    sem_init(&d->release, 0, 0);
    strcpy(d->directory, "/tmp/berth-test-XXXXXX");
    assert_non_null(mkdtemp(d->directory));
    chmod(d->directory, 0755);
    snprintf(d->path, sizeof d->path, "%s/s", d->directory);
    d->config = (struct server_config){.methods = rows,
                                       .daemon = d,
                                       .snapshot = no_snapshot,
                                       .notifier = &d->notifier,
                                       .vendor = "v",
                                       .product = "p",
                                       .version = "0",
                                       .url = "u"};
    const struct server_limits limits = default_limits();
    start(d, &limits);
    *state = d;
    return 0;
}

static inline int tear_down(void **state)
{
    struct daemon *d = *state;
    for (unsigned i = 0; i < d->states; i++)
        /* a test that failed may leave work waiting, whose threads libuv joins at exit */
        sem_post(&d->release);
    stop(d);
    int closed = uv_loop_close(&d->loop);
    for (uint64_t end = patience_end(); closed == UV_EBUSY && uv_hrtime() < end;
         closed = uv_loop_close(&d->loop))
        turn(d);                 /* a large message may still be freed on the thread pool */
    assert_int_equal(closed, 0); /* no handle is left */
    char lock[80];
    snprintf(lock, sizeof lock, "%s.lock", d->path);
    unlink(lock);
    rmdir(d->directory);
    sem_destroy(&d->release);
    free(d);
    alarm(0);
    return 0;
}

/* Peers. */

struct client {
    struct daemon *d;
    int fd;
    char data[4 * BIG];
    size_t length;
};

static inline int connect_fd(struct daemon *d)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, d->path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    for (uint64_t end = patience_end();
         connect(fd, (struct sockaddr *)&address, sizeof address) < 0;) {
        assert_int_equal(errno, EAGAIN);
        assert_true(uv_hrtime() < end);
        turn(d);
    }
    return fd;
}

static inline struct client *client_new(struct daemon *d)
{
    struct client *client = malloc(sizeof *client);
    client->d = d;
    client->length = 0;
    client->fd = connect_fd(d);
    return client;
}

static inline void client_free(struct client *client)
{
    close(client->fd);
    free(client);
}

static inline void send_bytes(struct client *client, const char *bytes, size_t length)
{
    for (uint64_t end = patience_end(); length > 0;) {
        ssize_t sent = send(client->fd, bytes, length, MSG_NOSIGNAL);
        if (sent > 0) {
            bytes += sent;
            length -= (size_t)sent;
            continue;
        }
        assert_int_equal(errno, EAGAIN);
        assert_true(uv_hrtime() < end);
        turn(client->d);
    }
}

/* Single quotes stand for double ones; the NUL is sent too. */
static inline void say(struct client *client, const char *text)
{
    char buffer[512];
    size_t length = strlen(text);
    assert_true(length < sizeof buffer);
    for (size_t i = 0; i <= length; i++)
        buffer[i] = text[i] == '\'' ? '"' : text[i];
    send_bytes(client, buffer, length + 1);
}

/* Reads the available bytes; false at the end. */
static inline bool receive(struct client *client)
{
    ssize_t got =
        recv(client->fd, client->data + client->length, sizeof client->data - client->length, 0);
    if (got > 0)
        client->length += (size_t)got;
    return got > 0 || (got < 0 && errno == EAGAIN);
}

static inline void hears(struct client *client, const char *expected)
{
    char *end = memchr(client->data, '\0', client->length);
    for (uint64_t until = patience_end(); end == NULL && uv_hrtime() < until;) {
        turn(client->d);
        bool open = receive(client);
        end = memchr(client->data, '\0', client->length);
        if (!open && end == NULL)
            fail_msg("closed instead of %s", expected != NULL ? expected : "a reply");
    }
    if (end == NULL) {
        fail_msg("nothing instead of %s", expected != NULL ? expected : "a reply");
        return;
    }
    char buffer[1024];
    snprintf(buffer, sizeof buffer, "%.1000s", client->data);
    for (char *c = buffer; *c != '\0'; c++)
        if (*c == '"')
            *c = '\'';
    if (expected != NULL)
        assert_string_equal(buffer, expected);
    client->length -= (size_t)(end + 1 - client->data);
    memmove(client->data, end + 1, client->length);
}

static inline void hears_nothing(struct client *client)
{
    for (int i = 0; i < 30; i++)
        turn(client->d);
    assert_true(receive(client));
    assert_int_equal(client->length, 0);
}

static inline void until_begun(struct daemon *d, unsigned count)
{
    for (uint64_t end = patience_end();
         __atomic_load_n(&d->begun, __ATOMIC_RELAXED) < count && uv_hrtime() < end;)
        turn(d);
    assert_int_equal(__atomic_load_n(&d->begun, __ATOMIC_RELAXED), count);
}

static inline void hears_the_end(struct client *client)
{
    for (uint64_t end = patience_end(); uv_hrtime() < end;) {
        turn(client->d);
        if (!receive(client)) {
            assert_int_equal(client->length, 0);
            return;
        }
    }
    fail_msg("not closed");
}

/* Reads to the end: whole replies, one at least. */
static inline void hears_the_last(struct client *client)
{
    uint64_t end = patience_end();
    while (receive(client) && uv_hrtime() < end)
        turn(client->d);
    assert_true(uv_hrtime() < end);
    assert_true(client->length > 0 && client->data[client->length - 1] == '\0');
}

static inline void until_clients(struct daemon *d, unsigned count)
{
    for (uint64_t end = patience_end(); server_clients(d->server) != count && uv_hrtime() < end;)
        turn(d);
    assert_int_equal(server_clients(d->server), count);
}

#define STATUS     "{'method':'io.berth.Fabric.GetStatus'}"
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
