/* A server in this process, on a socket of its own, with a small table of methods; the peers are plain descriptors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <semaphore.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "listen.h"
#include "server.h"

#define NOBODY 65534

enum { PATIENCE_MS = 10000, BIG = 100 * 1000 };

struct daemon {
    uv_loop_t loop;
    struct hub hub;
    struct server *server;
    struct server_config config;
    char directory[32], path[64];
    int lock_fd;
    bool closed;

    unsigned calls;  /* that reached a handler */
    unsigned states; /* of WORK and STREAM, not freed */
    unsigned pulled; /* replies taken from streams */
    sem_t release;   /* lets one work function end */
};

/* The methods. Their names are taken from the interface files; what they answer is this test's. */

static struct snapshot *no_snapshot(struct daemon *daemon)
{
    (void)daemon;
    return NULL;
}

/* What work and streams go by. */
struct task {
    struct daemon *daemon;
    bool more;
    int left;
    enum berth_code code;
};

static struct task *task_new(const struct call *call, int left)
{
    struct task *task = malloc(sizeof *task);
    *task = (struct task){.daemon = call->daemon, .more = call->more, .left = left};
    call->daemon->states++;
    return task;
}

static void task_free(void *state)
{
    struct task *task = state;
    task->daemon->states--;
    free(task);
}

static enum berth_code get_status(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    (void)err;
    *ret = (struct outcome){.kind = OUTCOME_RESULT, .result = json_pack("{s:i}", "calls", (int)++call->daemon->calls)};
    return BERTH_OK;
}

static enum berth_code big_result(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    (void)err;
    call->daemon->calls++;
    char *text = malloc(BIG);
    memset(text, 'x', BIG);
    *ret = (struct outcome){.kind = OUTCOME_RESULT, .result = json_pack("{s:o}", "text", json_stringn(text, BIG))};
    free(text);
    return BERTH_OK;
}

static enum berth_code wait_for_release(void *state, json_t **ret_result, struct berth_err *err)
{
    struct task *task = state;
    sem_wait(&task->daemon->release);
    if (task->code != BERTH_OK)
        return err_set(err, task->code, "as asked");
    *ret_result = json_pack("{s:b}", "worked", 1);
    return BERTH_OK;
}

/* GetMatrix: work, which fails when the metric is "fail". */
static enum berth_code get_matrix(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    call->daemon->calls++;
    const char *metric = json_string_value(json_object_get(call->params, "metric"));
    if (strcmp(metric, "none") == 0) {
        err_text(err, 0, "na\xc3\xafve \"x\" \xff\\");
        return err_set(err, BERTH_NO_SUCH_METRIC, "no");
    }
    struct task *task = task_new(call, 0);
    task->code = strcmp(metric, "fail") == 0 ? BERTH_BAD_DATA : BERTH_OK;
    *ret = (struct outcome){.kind = OUTCOME_WORK, .state = task, .work = wait_for_release, .free_state = task_free};
    return BERTH_OK;
}

static enum stream_step count_down(void *state, json_t **ret_reply, struct berth_err *err)
{
    struct task *task = state;
    if (task->left < 0)
        return err_set(err, BERTH_BUSY, "as asked"), STREAM_ERROR;
    task->daemon->pulled++;
    *ret_reply = json_pack("{s:i}", "left", task->left);
    return task->left-- == 0 ? STREAM_LAST : STREAM_REPLY;
}

/* Probe: an administrator's stream of budget_ns replies, an error at once when that is negative. */
static enum berth_code probe(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    (void)err;
    call->daemon->calls++;
    int left = (int)json_integer_value(json_object_get(call->params, "budget_ns"));
    *ret = (struct outcome){.kind = OUTCOME_STREAM, .state = task_new(call, left), .next = count_down, .free_state = task_free};
    return BERTH_OK;
}

static enum stream_step one_a_wake(void *state, json_t **ret_reply, struct berth_err *err)
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
static enum berth_code watch(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    (void)err;
    *ret = (struct outcome){.kind = OUTCOME_STREAM, .state = task_new(call, -1), .next = one_a_wake, .free_state = task_free};
    return BERTH_OK;
}

static enum stream_step endless(void *state, json_t **ret_reply, struct berth_err *err)
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
static enum berth_code record(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    (void)err;
    *ret = (struct outcome){
        .kind = OUTCOME_STREAM, .state = task_new(call, 0), .work = wait_for_release, .next = endless, .free_state = task_free};
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

static void turn(struct daemon *d)
{
    uv_run(&d->loop, UV_RUN_NOWAIT);
    usleep(200);
}

static void start(struct daemon *d, const struct server_limits *limits)
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

static void on_server_closed(void *arg) { ((struct daemon *)arg)->closed = true; }

static void stop(struct daemon *d)
{
    server_close(d->server, on_server_closed, d);
    for (int i = 0; i < PATIENCE_MS && !d->closed; i++)
        turn(d);
    assert_true(d->closed);
    assert_int_equal(d->states, 0);
    assert_null(d->hub.first);
    assert_int_not_equal(access(d->path, F_OK), 0);
    close(d->lock_fd);
}

static void restart(struct daemon *d, const struct server_limits *limits)
{
    stop(d);
    start(d, limits);
}

static int set_up(void **state)
{
    struct daemon *d = calloc(1, sizeof *d);
    uv_loop_init(&d->loop);
    sem_init(&d->release, 0, 0);
    strcpy(d->directory, "/tmp/berth-test-XXXXXX");
    assert_non_null(mkdtemp(d->directory));
    chmod(d->directory, 0755);
    snprintf(d->path, sizeof d->path, "%s/s", d->directory);
    d->config = (struct server_config){.methods = rows,
                                       .daemon = d,
                                       .snapshot = no_snapshot,
                                       .hub = &d->hub,
                                       .vendor = "v",
                                       .product = "p",
                                       .version = "0",
                                       .url = "u"};
    start(d, &server_default_limits);
    *state = d;
    return 0;
}

static int tear_down(void **state)
{
    struct daemon *d = *state;
    stop(d);
    assert_int_equal(uv_loop_close(&d->loop), 0); /* no handle is left */
    char lock[80];
    snprintf(lock, sizeof lock, "%s.lock", d->path);
    unlink(lock);
    rmdir(d->directory);
    sem_destroy(&d->release);
    free(d);
    return 0;
}

/* Peers. */

struct client {
    struct daemon *d;
    int fd;
    char data[4 * BIG];
    size_t length;
};

static int connect_fd(struct daemon *d)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, d->path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    for (int i = 0; connect(fd, (struct sockaddr *)&address, sizeof address) < 0; i++) {
        assert_int_equal(errno, EAGAIN);
        assert_true(i < PATIENCE_MS);
        turn(d);
    }
    return fd;
}

static struct client *client_new(struct daemon *d)
{
    struct client *client = malloc(sizeof *client);
    client->d = d;
    client->length = 0;
    client->fd = connect_fd(d);
    return client;
}

static void client_free(struct client *client)
{
    close(client->fd);
    free(client);
}

static void send_bytes(struct client *client, const char *bytes, size_t length)
{
    for (int i = 0; length > 0; i++) {
        ssize_t sent = send(client->fd, bytes, length, MSG_NOSIGNAL);
        if (sent > 0) {
            bytes += sent;
            length -= (size_t)sent;
            continue;
        }
        assert_int_equal(errno, EAGAIN);
        assert_true(i < PATIENCE_MS);
        turn(client->d);
    }
}

/* Single quotes stand for double ones; the NUL is sent too. */
static void say(struct client *client, const char *text)
{
    char buffer[512];
    size_t length = strlen(text);
    assert_true(length < sizeof buffer);
    for (size_t i = 0; i <= length; i++)
        buffer[i] = text[i] == '\'' ? '"' : text[i];
    send_bytes(client, buffer, length + 1);
}

/* Reads what there is; false at the end. */
static bool receive(struct client *client)
{
    ssize_t got = recv(client->fd, client->data + client->length, sizeof client->data - client->length, 0);
    if (got > 0)
        client->length += (size_t)got;
    return got > 0 || (got < 0 && errno == EAGAIN);
}

static void hears(struct client *client, const char *expected)
{
    char *end = NULL;
    for (int i = 0; i < PATIENCE_MS && end == NULL; i++) {
        turn(client->d);
        bool open = receive(client);
        end = memchr(client->data, '\0', client->length);
        if (!open && end == NULL)
            fail_msg("closed instead of %s", expected);
    }
    if (end == NULL)
        fail_msg("nothing instead of %s", expected);
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

static void hears_nothing(struct client *client)
{
    for (int i = 0; i < 30; i++)
        turn(client->d);
    assert_true(receive(client));
    assert_int_equal(client->length, 0);
}

static void hears_the_end(struct client *client)
{
    for (int i = 0; i < PATIENCE_MS; i++) {
        turn(client->d);
        if (!receive(client)) {
            assert_int_equal(client->length, 0);
            return;
        }
    }
    fail_msg("not closed");
}

static void until_clients(struct daemon *d, unsigned count)
{
    for (int i = 0; i < PATIENCE_MS && server_clients(d->server) != count; i++)
        turn(d);
    assert_int_equal(server_clients(d->server), count);
}

#define STATUS "{'method':'io.berth.Fabric.GetStatus'}"

/* Calls and errors. */

static void test_call(void **state)
{
    struct client *c = client_new(*state);
    say(c, STATUS);
    hears(c, "{'parameters':{'calls':1}}");
    say(c, "{'method':'io.berth.Fabric.GetStatus','parameters':null,'more':false,'oneway':null,'later':[1]}");
    hears(c, "{'parameters':{'calls':2}}");
    say(c, "{'method':'io.berth.Fabric.GetStatus','parameters':{},'more':true}");
    hears(c, "{'parameters':{'calls':3}}");
    assert_int_equal(server_clients(c->d->server), 1);
    client_free(c);
    until_clients(*state, 0);
}

static void test_service(void **state)
{
    struct client *c = client_new(*state);
    say(c, "{'method':'org.varlink.service.GetInfo'}");
    hears(
        c,
        "{'parameters':{'vendor':'v','product':'p','version':'0','url':'u','interfaces':['org.varlink.service','io.berth.Fabric',"
        "'io.berth.Health','io.berth.Placement']}}");
    say(c, "{'method':'org.varlink.service.GetInterfaceDescription','parameters':{'interface':'io.berth.Nothing'}}");
    hears(c, "{'error':'org.varlink.service.InterfaceNotFound','parameters':{'interface':'io.berth.Nothing'}}");
    say(c, "{'method':'org.varlink.service.GetInterfaceDescription','parameters':{'interface':'org.varlink.service'}}");
    hears(c, NULL);
    client_free(c);
}

static void test_errors(void **state)
{
    static const struct {
        const char *call, *error, *parameters;
    } cases[] = {
        {"'method':'io.berth.Fabric.Nope'", "org.varlink.service.MethodNotFound", "'method':'io.berth.Fabric.Nope'"},
        {"'method':'io.nobody.Fabric.Nope'", "org.varlink.service.InterfaceNotFound", "'interface':'io.nobody.Fabric'"},
        {"'method':'io.berth.Fabric.Export','parameters':{'format':'dot'}", "org.varlink.service.MethodNotImplemented",
         "'method':'io.berth.Fabric.Export'"},
        {"'method':'GetStatus'", "org.varlink.service.InvalidParameter", "'parameter':'method'"},
        {"'method':''", "org.varlink.service.InvalidParameter", "'parameter':'method'"},
        {"'method':7", "org.varlink.service.InvalidParameter", "'parameter':'method'"},
        {"'no':'method'", "org.varlink.service.InvalidParameter", "'parameter':'method'"},
        {"'method':'io.berth.Fabric.GetStatus','parameters':[]", "org.varlink.service.InvalidParameter",
         "'parameter':'parameters'"},
        {"'method':'io.berth.Fabric.GetStatus','parameters':{'x':1}", "org.varlink.service.InvalidParameter", "'parameter':'x'"},
        {"'method':'io.berth.Fabric.GetStatus','more':1", "org.varlink.service.InvalidParameter", "'parameter':'more'"},
        {"'method':'io.berth.Fabric.GetStatus','oneway':'yes'", "org.varlink.service.InvalidParameter", "'parameter':'oneway'"},
        {"'method':'io.berth.Fabric.GetStatus','upgrade':true", "org.varlink.service.InvalidParameter", "'parameter':'upgrade'"},
        {"'method':'io.berth.Fabric.GetMatrix'", "org.varlink.service.InvalidParameter", "'parameter':'metric'"},
        {"'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'m','where':{'a':1}}",
         "org.varlink.service.InvalidParameter", "'parameter':'where.a'"},
        {"'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'none'}", "io.berth.Fabric.NoSuchMetric",
         "'metric':'na\xc3\xafve \\'x\\' ?\\\\','detail':'no'"},
        {"'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'fail'}", "io.berth.Fabric.Unavailable",
         "'detail':'as asked'"},
        {"'method':'io.berth.Health.Probe','parameters':{'budget_ns':-1}", "io.berth.Health.Busy", "'by':'','detail':'as asked'"},
    };
    struct client *c = client_new(*state);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char call[300], reply[300];
        snprintf(call, sizeof call, "{%s}", cases[i].call);
        snprintf(reply, sizeof reply, "{'error':'%s','parameters':{%s}}", cases[i].error, cases[i].parameters);
        sem_post(&c->d->release);
        say(c, call);
        hears(c, reply);
    }
    say(c, STATUS);
    hears(c, NULL);
    client_free(c);
}

static void test_no_json(void **state)
{
    static const char *const texts[] = {"",
                                        "x",
                                        "[]",
                                        "7",
                                        "null",
                                        "{",
                                        "{'a':1,'a':2}",
                                        "{'a':NaN}",
                                        "{'a':1e999}",
                                        "{'a':'\xff'}",
                                        "{'a':'\\ud800'}",
                                        "{'a':'\\u0000'}",
                                        STATUS "x",
                                        "\xef\xbb\xbf{}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct client *c = client_new(*state);
        say(c, STATUS);
        say(c, texts[i]);
        say(c, STATUS); /* not answered any more */
        hears(c, NULL);
        hears_the_end(c);
        client_free(c);
    }
    assert_int_equal(((struct daemon *)*state)->calls, sizeof texts / sizeof *texts);

    struct client *c = client_new(*state);
    char *deep = malloc(500000);
    memset(deep, '[', 500000);
    deep[499999] = '\0';
    send_bytes(c, "{\"method\":", 10);
    send_bytes(c, deep, 500000);
    hears_the_end(c);
    free(deep);
    client_free(c);
}

static void test_checked_replies(void **state)
{
    struct daemon *d = *state;
    d->config.check_replies = true;
    restart(d, &server_default_limits);
    struct client *c = client_new(d);
    say(c, STATUS);
    hears(c,
          "{'error':'io.berth.Fabric.Unavailable','parameters':{'detail':'our reply to io.berth.Fabric.GetStatus is not what its "
          "interface declares: state: it is missing'}}");
    say(c, "{'method':'org.varlink.service.GetInfo'}");
    hears(c, NULL);
    say(c, "{'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'none'}}");
    hears(c, "{'error':'io.berth.Fabric.NoSuchMetric','parameters':{'metric':'na\xc3\xafve \\'x\\' ?\\\\','detail':'no'}}");
    client_free(c);
}

/* Order, more, oneway. */

static void test_pipelined(void **state)
{
    struct daemon *d = *state;
    struct client *c = client_new(d);
    say(c, STATUS);
    say(c, "{'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'m'}}");
    say(c, STATUS);
    say(c, "{'method':'io.berth.Health.Probe','parameters':{'budget_ns':2},'more':true}");
    say(c, "{'method':'io.berth.Health.Probe','parameters':{'budget_ns':2}}");
    say(c, "{'method':'no.such.Thing'}");
    say(c, STATUS);
    hears(c, "{'parameters':{'calls':1}}");
    hears_nothing(c);
    assert_int_equal(d->calls, 2); /* the work holds up what follows */
    struct client *other = client_new(d);
    say(other, STATUS);
    hears(other, "{'parameters':{'calls':3}}"); /* of this connection only */
    sem_post(&d->release);
    hears(c, "{'parameters':{'worked':true}}");
    hears(c, "{'parameters':{'calls':4}}");
    hears(c, "{'parameters':{'left':2},'continues':true}");
    hears(c, "{'parameters':{'left':1},'continues':true}");
    hears(c, "{'parameters':{'left':0}}");
    hears(c, "{'parameters':{'left':0}}");
    hears(c, "{'error':'org.varlink.service.InterfaceNotFound','parameters':{'interface':'no.such'}}");
    hears(c, "{'parameters':{'calls':7}}");
    client_free(c);
    client_free(other);
}

static void test_oneway(void **state)
{
    struct daemon *d = *state;
    struct client *c = client_new(d);
    say(c, "{'method':'io.berth.Fabric.GetStatus','oneway':true}");
    say(c, "{'method':'io.berth.Fabric.Nope','oneway':true}");
    say(c, "{'method':7,'oneway':true}");
    say(c, "{'method':'io.berth.Fabric.GetStatus','oneway':true,'more':3}");
    say(c, "{'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'m'},'oneway':true}");
    say(c, "{'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'fail'},'oneway':true}");
    say(c, "{'method':'io.berth.Fabric.Watch','oneway':true,'more':true}");
    say(c, "{'method':'io.berth.Health.Probe','parameters':{'budget_ns':5},'oneway':true,'more':true}");
    say(c, STATUS);
    hears_nothing(c);
    sem_post(&d->release);
    sem_post(&d->release);
    hears(c, "{'parameters':{'calls':5}}");
    assert_int_equal(d->pulled, 0);
    hears_nothing(c);
    client_free(c);

    c = client_new(d); /* a caller that does not even wait */
    say(c, "{'method':'io.berth.Fabric.GetStatus','oneway':true}");
    client_free(c);
    until_clients(d, 0);
    assert_int_equal(d->calls, 6);
}

static void test_odd_sizes(void **state)
{
    struct client *c = client_new(*state);
    const char text[] = "{\"method\":\"io.berth.Fabric.GetStatus\"}\0{\"method\":\"io.berth.Fabric.GetStatus\",\"more\":false}";
    unsigned calls = 0;
    for (size_t piece = 1; piece <= sizeof text; piece += 1 + piece / 4) {
        for (size_t i = 0; i < sizeof text; i += piece) {
            send_bytes(c, text + i, sizeof text - i < piece ? sizeof text - i : piece);
            turn(c->d);
        }
        for (int i = 0; i < 2; i++) {
            char expected[64];
            snprintf(expected, sizeof expected, "{'parameters':{'calls':%u}}", ++calls);
            hears(c, expected);
        }
    }
    client_free(c);
}

static void test_watch(void **state)
{
    struct daemon *d = *state;
    struct client *w = client_new(d), *once = client_new(d);
    say(w, "{'method':'io.berth.Fabric.Watch','more':true}");
    hears(w, "{'parameters':{'calls':0},'continues':true}");
    say(once, "{'method':'io.berth.Fabric.Watch'}");
    hears(once, "{'parameters':{'calls':0}}");
    hub_wake(&d->hub);
    hears_nothing(w);
    say(once, STATUS);
    hears(once, NULL);
    hub_wake(&d->hub);
    hub_wake(&d->hub);
    hears(w, "{'parameters':{'calls':1},'continues':true}");
    hears_nothing(w);
    say(w, STATUS); /* waits behind the stream */
    hears_nothing(w);
    client_free(w);
    until_clients(d, 1);
    assert_int_equal(d->calls, 1);
    assert_int_equal(d->states, 0);
    client_free(once);
}

/* A peer that said all it has to say, and still reads. */
static void test_half_closed(void **state)
{
    struct daemon *d = *state;
    struct client *c = client_new(d);
    say(c, "{'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'m'}}");
    say(c, STATUS);
    shutdown(c->fd, SHUT_WR);
    hears_nothing(c);
    sem_post(&d->release);
    hears(c, "{'parameters':{'worked':true}}");
    hears(c, "{'parameters':{'calls':2}}");
    hears_the_end(c);
    client_free(c);

    c = client_new(d);
    say(c, "{'method':'io.berth.Fabric.Watch','more':true}");
    shutdown(c->fd, SHUT_WR);
    hears(c, "{'parameters':{'calls':2},'continues':true}");
    until_clients(d, 1);
    client_free(c);
    until_clients(d, 0); /* noticed by looking, as nothing is read any more */
}

/* Peers that leave. */

static void test_gone_during_work(void **state)
{
    struct daemon *d = *state;
    for (int half = 0; half < 2; half++) {
        struct client *c = client_new(d);
        say(c, "{'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'m'}}");
        say(c, STATUS);
        hears_nothing(c);
        client_free(c);
        for (int i = 0; i < 20; i++)
            turn(d);
        assert_int_equal(d->states, 1); /* the work has it */
        assert_int_equal(server_clients(d->server), 1);
        sem_post(&d->release);
        until_clients(d, 0);
        assert_int_equal(d->states, 0);
    }
}

static void test_gone_during_stream(void **state)
{
    struct daemon *d = *state;
    struct client *c = client_new(d);
    say(c, "{'method':'io.berth.Fabric.Record','more':true}");
    hears_nothing(c);
    sem_post(&d->release);
    hears(c, NULL);
    client_free(c);
    until_clients(d, 0);
    assert_int_equal(d->states, 0);
}

static void test_close_during_everything(void **state)
{
    struct daemon *d = *state;
    struct client *work = client_new(d), *streaming = client_new(d), *unread = client_new(d), *half = client_new(d);
    say(work, "{'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'m'}}");
    say(streaming, "{'method':'io.berth.Fabric.Watch','more':true}");
    for (int i = 0; i < 20; i++)
        say(unread, "{'method':'io.berth.Fabric.GetNode'}");
    send_bytes(half, "{", 1);
    hears(streaming, NULL);
    sem_post(&d->release); /* whether it ends before or after the server begins to close is a race that either side may win */
    restart(d, &server_default_limits);
    hears_the_end(streaming);
    hears_the_end(half);
    client_free(work);
    client_free(streaming);
    client_free(unread);
    client_free(half);
}

/* Room. */

static void test_unread_stream(void **state)
{
    struct daemon *d = *state;
    struct client *c = client_new(d);
    sem_post(&d->release);
    say(c, "{'method':'io.berth.Fabric.Record','more':true}");
    unsigned before;
    do {
        before = d->pulled;
        for (int i = 0; i < 50; i++)
            turn(d);
    } while (d->pulled != before);
    assert_in_range(d->pulled, 10, 1000); /* the socket's buffer, and one reply */
    for (int i = 0; i < 2000; i++)
        hears(c, NULL);
    assert_true(d->pulled >= 2000);
    client_free(c);
    until_clients(d, 0);
}

static void test_unread_replies(void **state)
{
    struct daemon *d = *state;
    struct server_limits limits = server_default_limits;
    limits.unsent_bytes = 3 * BIG;
    restart(d, &limits);
    struct client *c = client_new(d);
    for (int i = 0; i < 50; i++)
        say(c, "{'method':'io.berth.Fabric.GetNode'}");
    for (int i = 0; i < 100; i++)
        turn(d);
    assert_in_range(d->calls, 4, 10);
    for (int i = 0; i < 50; i++)
        hears(c, NULL);
    assert_int_equal(d->calls, 50);
    client_free(c);
}

static void test_queue(void **state)
{
    struct daemon *d = *state;
    struct server_limits limits = server_default_limits;
    limits.queued_calls = 8;
    limits.message_bytes = 2048;
    restart(d, &limits);
    struct client *c = client_new(d);
    say(c, "{'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'m'}}");
    hears_nothing(c);
    /* While the call works nothing is read beyond the limit, so that the peer comes to a stop. */
    unsigned said = 0;
    const char text[] = "{\"method\":\"io.berth.Fabric.GetStatus\"}";
    for (int i = 0; i < 200; said++) {
        ssize_t sent = send(c->fd, text, sizeof text, MSG_NOSIGNAL);
        if (sent < 0) {
            assert_int_equal(errno, EAGAIN);
            i++;
            said--;
            turn(d);
        } else if ((size_t)sent < sizeof text) {
            send_bytes(c, text + sent, 0);
            fail_msg("a part of a small message was taken");
        }
    }
    assert_true(said > 8);
    sem_post(&d->release);
    hears(c, "{'parameters':{'worked':true}}");
    for (unsigned i = 0; i < said; i++)
        hears(c, NULL);
    assert_int_equal(d->calls, said + 1);
    client_free(c);
}

static void test_long_message(void **state)
{
    struct daemon *d = *state;
    struct server_limits limits = server_default_limits;
    limits.message_bytes = 10000;
    restart(d, &limits);
    char *text = malloc(20000);
    memset(text, ' ', 20000);
    memcpy(text, "{\"method\":\"io.berth.Fabric.GetStatus\"", 37);
    for (size_t length = 9998; length < 10003; length++) {
        struct client *c = client_new(d);
        text[length - 2] = '}';
        text[length - 1] = '\0';
        say(c, STATUS);
        send_bytes(c, text, length); /* NUL included */
        hears(c, NULL);
        if (length <= 10000) {
            hears(c, NULL);
        } else {
            hears(c, "{'error':'org.varlink.service.InvalidParameter','parameters':{'parameter':'message'}}");
            hears_the_end(c);
        }
        text[length - 2] = text[length - 1] = ' ';
        client_free(c);
    }
    assert_int_equal(d->calls, 5 + 3);

    struct client *c = client_new(d); /* no more is read of it than the limit, work or not */
    say(c, "{'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'m'}}");
    send_bytes(c, text, 20000);
    hears_nothing(c);
    sem_post(&d->release);
    hears(c, "{'parameters':{'worked':true}}");
    hears(c, "{'error':'org.varlink.service.InvalidParameter','parameters':{'parameter':'message'}}");
    hears_the_end(c);
    client_free(c);
    free(text);
}

/* Connections and time. */

static void test_connection_limit(void **state)
{
    struct daemon *d = *state;
    struct server_limits limits = server_default_limits;
    limits.connections = 5;
    restart(d, &limits);
    struct client *first[5];
    for (int i = 0; i < 5; i++) {
        first[i] = client_new(d);
        say(first[i], STATUS);
        hears(first[i], NULL);
    }
    for (int i = 0; i < 1000; i++) {
        struct client *c = client_new(d);
        hears_the_end(c);
        client_free(c);
    }
    say(first[4], STATUS);
    hears(first[4], "{'parameters':{'calls':6}}");
    client_free(first[0]);
    until_clients(d, 4);
    first[0] = client_new(d);
    say(first[0], STATUS);
    hears(first[0], NULL);
    for (int i = 0; i < 5; i++)
        client_free(first[i]);
}

static void test_no_descriptors(void **state)
{
    struct daemon *d = *state;
    struct client *good = client_new(d);
    say(good, STATUS);
    hears(good, NULL);
    int waiting[3];
    for (int i = 0; i < 3; i++)
        waiting[i] = connect_fd(d);
    struct rlimit before, none;
    getrlimit(RLIMIT_NOFILE, &before);
    none = before;
    none.rlim_cur = (rlim_t)waiting[2] + 1;
    int fill;
    setrlimit(RLIMIT_NOFILE, &none);
    while ((fill = dup(waiting[0])) >= 0) /* the low numbers that are free */
        assert_true(fill <= waiting[2]);
    for (int i = 0; i < 30; i++)
        turn(d);
    say(good, STATUS);
    hears(good, NULL);
    for (int i = 0; i < 3; i++) {
        char byte;
        assert_int_equal(recv(waiting[i], &byte, 1, 0), 0); /* let go, not left to wait */
    }
    setrlimit(RLIMIT_NOFILE, &before);
    struct stat wanted, status;
    fstat(waiting[0], &wanted);
    for (int fd = 3; fd <= waiting[2]; fd++) /* the copies, and the three themselves */
        if (fd != waiting[1] && fd != waiting[2] && fstat(fd, &status) == 0 && status.st_ino == wanted.st_ino)
            close(fd);
    close(waiting[1]);
    close(waiting[2]);
    client_free(good);
    good = client_new(d);
    say(good, STATUS);
    hears(good, NULL);
    client_free(good);
}

static void test_idle(void **state)
{
    struct daemon *d = *state;
    struct server_limits limits = server_default_limits;
    limits.idle_ms = 100;
    restart(d, &limits);
    turn(d);
    assert_int_equal(uv_backend_timeout(&d->loop), -1); /* no timer without a peer */
    struct client *silent = client_new(d), *working = client_new(d), *watching = client_new(d);
    say(working, "{'method':'io.berth.Fabric.GetMatrix','parameters':{'metric':'m'}}");
    say(watching, "{'method':'io.berth.Fabric.Watch','more':true}");
    hears(watching, NULL);
    hears_the_end(silent);
    for (int i = 0; i < 300; i++)
        turn(d);
    until_clients(d, 2);
    sem_post(&d->release);
    hears(working, "{'parameters':{'worked':true}}");
    hears_the_end(working);
    hears_nothing(watching);
    assert_int_equal(uv_backend_timeout(&d->loop), -1); /* and none for a stream that waits */
    client_free(silent);
    client_free(working);
    client_free(watching);
}

static void test_half_message(void **state)
{
    struct daemon *d = *state;
    struct server_limits limits = server_default_limits;
    limits.half_message_ms = 100;
    restart(d, &limits);
    struct client *slow = client_new(d), *quiet = client_new(d);
    const char text[] = "{\"method\":\"io.berth.Fabric.GetStatus\"}";
    bool open = true;
    size_t sent = 0;
    for (int i = 0; i < PATIENCE_MS && open; i++) { /* a byte now and then does not help */
        if (i % 100 == 0 && sent < sizeof text - 1)
            open = send(slow->fd, text + sent++, 1, MSG_NOSIGNAL) == 1;
        turn(d);
        open = open && receive(slow);
    }
    assert_false(open);
    assert_true(sent < sizeof text - 1);
    say(quiet, STATUS);
    hears(quiet, "{'parameters':{'calls':1}}");
    client_free(slow);
    client_free(quiet);
}

/* Access. Only root can be somebody else for the moment of a connect. */

static struct client *client_as(struct daemon *d, uid_t uid, gid_t gid, gid_t supplementary)
{
    assert_int_equal(setgroups(supplementary != 0, &supplementary), 0);
    assert_int_equal(setegid(gid) | seteuid(uid), 0);
    struct client *client = client_new(d);
    assert_int_equal(seteuid(0) | setegid(0), 0);
    assert_int_equal(setgroups(0, NULL), 0);
    return client;
}

static void test_access(void **state)
{
    if (geteuid() != 0)
        skip();
    struct daemon *d = *state;
    static const char *const probe_call = "{'method':'io.berth.Health.Probe'}";
    static const char *const denied = "{'error':'org.varlink.service.PermissionDenied','parameters':{}}";
    struct client *root = client_new(d), *nobody = client_as(d, NOBODY, 4711, 0);
    say(root, probe_call);
    hears(root, "{'parameters':{'left':0}}");
    say(nobody, probe_call);
    hears(nobody, denied);
    say(nobody, "{'method':'io.berth.Health.Probe','parameters':{'no':'such'}}"); /* who may not call learns no more */
    hears(nobody, denied);
    say(nobody, STATUS);
    hears(nobody, "{'parameters':{'calls':2}}");

    struct client *member = client_as(d, 4711, 4711, NOBODY);
    say(member, probe_call);
    hears(member, denied);
    server_configure(d->server, &server_default_limits, "nogroup"); /* holds for who is there, too */
    say(member, probe_call);
    hears(member, "{'parameters':{'left':0}}");
    struct client *primary = client_as(d, 4711, NOBODY, 0);
    say(primary, probe_call);
    hears(primary, "{'parameters':{'left':0}}");
    say(nobody, probe_call);
    hears(nobody, denied);
    server_configure(d->server, &server_default_limits, "no-such-group");
    say(primary, probe_call);
    hears(primary, denied);
    client_free(root);
    client_free(nobody);
    client_free(member);
    client_free(primary);
}

static void test_user_limit(void **state)
{
    if (geteuid() != 0)
        skip();
    struct daemon *d = *state;
    struct server_limits limits = server_default_limits;
    limits.connections_per_user = 2;
    restart(d, &limits);
    struct client *mine[3], *own[3];
    for (int i = 0; i < 3; i++) {
        mine[i] = client_as(d, NOBODY, NOBODY, 0);
        own[i] = client_new(d);
        say(own[i], STATUS);
        hears(own[i], NULL);
    }
    hears_the_end(mine[2]);
    say(mine[1], STATUS);
    hears(mine[1], NULL);
    struct client *other = client_as(d, 4711, NOBODY, 0);
    say(other, STATUS);
    hears(other, NULL);
    for (int i = 0; i < 3; i++) {
        client_free(mine[i]);
        client_free(own[i]);
    }
    client_free(other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_call),
        TEST(test_service),
        TEST(test_errors),
        TEST(test_no_json),
        TEST(test_checked_replies),
        TEST(test_pipelined),
        TEST(test_oneway),
        TEST(test_odd_sizes),
        TEST(test_watch),
        TEST(test_half_closed),
        TEST(test_gone_during_work),
        TEST(test_gone_during_stream),
        TEST(test_close_during_everything),
        TEST(test_unread_stream),
        TEST(test_unread_replies),
        TEST(test_queue),
        TEST(test_long_message),
        TEST(test_connection_limit),
        TEST(test_no_descriptors),
        TEST(test_idle),
        TEST(test_half_message),
        TEST(test_access),
        TEST(test_user_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
