/* libFuzzer target: a whole connection over a socket. The first byte says in what sizes the peer
 * writes and reads, the rest is what it says. Answers come from every kind of outcome. Whatever it
 * says: each reply is a JSON object, a peer that reads gets an end, and nothing is left. */
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "varlink/conn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define GIVE_UP_TURNS 2000000
#define QUIET_TURNS   30 /* without a byte, after which the peer goes away */

static const struct snapshot *no_snapshot(struct daemon *daemon)
{
    (void)daemon;
    return NULL;
}

static enum berth_code echo(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    (void)err;
    *ret = (struct outcome){.kind = OUTCOME_RESULT, .result = json_incref(call->params)};
    return BERTH_OK;
}

static enum berth_code large(void *state, struct print *reply, struct berth_err *err)
{
    (void)err;
    print_open(reply, '{');
    print_key(reply, "numbers");
    print_open(reply, '[');
    for (int i = 0; i < *(int *)state; i++)
        print_real(reply, i / 8.0);
    print_close(reply, ']');
    print_close(reply, '}');
    return BERTH_OK;
}

static enum stream_step count_down(void *state, json_t **ret_reply, struct berth_err *err)
{
    int *left = state;
    (void)err;
    if (*left == 0)
        return STREAM_WAIT;
    *ret_reply = json_pack("{s:i}", "left", *left);
    return --*left == 7 ? STREAM_LAST : STREAM_REPLY;
}

static enum berth_code outcome_of(enum outcome_kind kind, int number, struct outcome *ret)
{
    int *state = malloc(sizeof *state);
    if (state == NULL)
        abort();
    *state = number;
    *ret = (struct outcome){.kind = kind, .state = state, .free_state = free};
    if (kind == OUTCOME_STREAM)
        ret->next = count_down;
    else
        ret->write = large;
    return BERTH_OK;
}

static enum berth_code get_matrix(const struct call *call, struct outcome *ret,
                                  struct berth_err *err)
{
    const char *metric = json_string_value(json_object_get(call->params, "metric"));
    err_text(err, 0, metric);
    return metric[0] == 'e' ? err_set(err, BERTH_NO_SUCH_METRIC, "%s", metric)
                            : outcome_of(OUTCOME_WORK, 40000, ret);
}

static enum berth_code get_node(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    (void)call;
    (void)err;
    return outcome_of(OUTCOME_RESULT, 2000, ret);
}

static enum berth_code watch(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    (void)err;
    return outcome_of(OUTCOME_STREAM, call->more ? 20 : 8, ret);
}

static enum berth_code status(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    (void)call;
    (void)err;
    return outcome_of(OUTCOME_STREAM, 5, ret); /* waits in the end */
}

static const struct method rows[] = {
    {"io.berth.Placement.Allocate", ACCESS_ANY, echo},
    {"io.berth.Fabric.GetMatrix", ACCESS_ANY, get_matrix},
    {"io.berth.Fabric.GetNode", ACCESS_ANY, get_node},
    {"io.berth.Fabric.Watch", ACCESS_ANY, watch},
    {"io.berth.Fabric.GetStatus", ACCESS_ANY, status},
    {"io.berth.Health.CancelProbe", ACCESS_ADMIN, echo},
    {NULL, ACCESS_ANY, NULL},
};

static void nothing(struct conn_host *host) { (void)host; }

static void no_time(struct conn_host *host, uint64_t due_ms)
{
    (void)host;
    (void)due_ms;
}

static const struct service *service(void)
{
    struct service *made = NULL;
    struct service_info info = {.vendor = "v", .product = "p", .version = "0", .url = "u"};
    if (service_new(rows, &info, &made, NULL) != BERTH_OK)
        abort();
    return made;
}

/* What the peer has heard of the reply under way. */
struct heard {
    struct print text;
    char piece[65536];
};

static void check_reply(const char *text, size_t length)
{
    json_t *message = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(message) || !json_is_object(json_object_get(message, "parameters")))
        abort();
    json_decref(message);
}

/* Reads at most most bytes; returns how many, 0 for none now, -1 at the end. */
static ssize_t hear(struct heard *heard, int fd, size_t most)
{
    ssize_t got = recv(fd, heard->piece, most < sizeof heard->piece ? most : sizeof heard->piece,
                       MSG_DONTWAIT);
    if (got <= 0)
        return got == 0 ? -1 : 0;
    const char *at = heard->piece, *end = at + got, *nul;
    while ((nul = memchr(at, '\0', (size_t)(end - at))) != NULL) {
        print_bytes(&heard->text, at, (size_t)(nul - at));
        check_reply(heard->text.data, heard->text.length);
        print_clear(&heard->text);
        at = nul + 1;
    }
    print_bytes(&heard->text, at, (size_t)(end - at));
    return got;
}

static void talk(struct conn_host *host, int fd, uint8_t sizes, const uint8_t *data, size_t size)
{
    struct heard *heard = malloc(sizeof *heard);
    if (heard == NULL || !print_init(&heard->text, 4096))
        abort();
    size_t write_bytes = (size_t)1 << (sizes & 7) << (sizes & 8 ? 5 : 0),
           read_bytes = (size_t)64 << (sizes >> 4);
    unsigned quiet = 0, turns = 0;
    for (size_t sent = 0; quiet < QUIET_TURNS && turns < GIVE_UP_TURNS; turns++) {
        size_t left = size - sent;
        ssize_t wrote = left > 0 ? send(fd, data + sent, left < write_bytes ? left : write_bytes,
                                        MSG_DONTWAIT | MSG_NOSIGNAL)
                                 : 0;
        sent += wrote > 0 ? (size_t)wrote : 0;
        uv_run(host->loop, UV_RUN_NOWAIT);
        conn_turns(host);
        ssize_t got = hear(heard, fd, read_bytes);
        if (got < 0)
            break;
        bool works = host->rooms.working > 0;
        quiet = wrote > 0 || got > 0 || works ? 0 : quiet + 1;
        if (works)
            sched_yield();
    }
    if (turns == GIVE_UP_TURNS)
        abort();
    print_done(&heard->text);
    free(heard);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct service *once;
    uv_loop_t loop;
    struct notifier notifier = {0};
    int pair[2];
    if (once == NULL)
        once = service();
    if (size < 1 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return 0;
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    uv_loop_init(&loop);
    struct conn_host host = {
        .loop = &loop,
        .notifier = &notifier,
        .context = {.service = once, .snapshot = no_snapshot},
        .limits = {.message_bytes = 4096,
                   .unsent_bytes = 65536,
                   .unsent_bytes_per_user = 1 << 20,
                   .unsent_bytes_in_all = 1 << 22,
                   .input_bytes_per_user = 1 << 16,
                   .input_bytes_in_all = 1 << 18,
                   .large_calls_per_user = 1,
                   .connections = 1,
                   .connections_per_user = 1,
                   .queued_calls = 4,
                   .unread_ms = 1000,
                   .half_message_ms = 1000},
        .soon = nothing,
        .due = no_time,
        .gone = nothing,
    };
    struct peer peer = {.uid = 1};
    struct berth_err err = {0};
    if (!reply_init(&host.reply) || conn_new(&host, pair[0], &peer, &err) != BERTH_OK)
        abort();
    talk(&host, pair[1], data[0], data + 1, size - 1);
    close(pair[1]);
    if (host.first != NULL)
        conn_close(host.first);
    uv_run(&loop, UV_RUN_DEFAULT); /* hangs when a handle is left */
    if (host.count != 0 || notifier.first != NULL || host.rooms.first != NULL ||
        host.rooms.working != 0 || uv_loop_close(&loop) != 0)
        abort();
    conn_share_done(&host.share);
    print_done(&host.reply);
    return 0;
}
