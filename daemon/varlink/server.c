#include "varlink/server.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/peer.h"
#include "varlink/conn.h"
#include "varlink/conn_slow.h"
#include "varlink/service.h"

/* Wake-ups: the timer runs only while some connection has a time limit, or while accepting is
 * paused; turn runs only while some connection is ready. So a daemon without connections sleeps. */

enum {
    ACCEPTS_PER_TURN = 16,
    PAUSE_MS = 1000, /* after accept failed for lack of a resource */
};

struct listener {
    uv_poll_t poll;
    struct server *server;
    int fd;
    char *unlink_path;
    struct listener *next;
};

struct server {
    struct conn_host host; /* first, so that a host is its server */
    struct service *service;
    struct peer_admins admins;
    struct listener *listeners;
    uv_timer_t timer;
    uv_idle_t turn;
    uint64_t due_ms;    /* time of the timer; CONN_NEVER */
    uint64_t resume_ms; /* time at which accepting goes on; CONN_NEVER when it is not paused */
    /* closed for a moment to refuse a connection when descriptors run out; -1 none */
    int spare_fd;
    unsigned handles; /* open handles, without connections */
    bool is_closing;
    void (*closed)(void *arg);
    void *closed_arg;
};

static int spare_fd(void) { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

/* Closing. */

static void free_when_closed(struct server *server);

static void on_slow_closed(void *arg)
{
    struct server *server = arg;
    server->handles--;
    free_when_closed(server);
}

static void free_when_closed(struct server *server)
{
    if (!server->is_closing || server->handles > 0 || server->host.count > 0)
        return;
    if (server->host.slow != NULL) {
        struct conn_slow *slow = server->host.slow;
        server->host.slow = NULL;
        server->handles++;
        conn_slow_close(slow, on_slow_closed, server);
        return;
    }
    void (*closed)(void *) = server->closed;
    void *arg = server->closed_arg;
    print_done(&server->host.reply);
    conn_share_done(&server->host.share);
    service_free(server->service);
    if (server->spare_fd >= 0)
        close(server->spare_fd);
    free(server);
    if (closed != NULL)
        closed(arg);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct server *server = handle->data;
    server->handles--;
    free_when_closed(server);
}

static void on_listener_closed(uv_handle_t *handle)
{
    struct listener *listener = handle->data;
    struct server *server = listener->server;
    close(listener->fd);
    free(listener->unlink_path);
    free(listener);
    server->handles--;
    free_when_closed(server);
}

static void on_conn_gone(struct conn_host *host) { free_when_closed((struct server *)host); }

void server_close(struct server *server, void (*done)(void *arg), void *arg)
{
    assert(!server->is_closing);
    server->is_closing = true;
    server->closed = done;
    server->closed_arg = arg;
    for (struct listener *listener = server->listeners, *next; listener != NULL; listener = next) {
        next = listener->next;
        if (listener->unlink_path != NULL)
            unlink(listener->unlink_path);
        uv_close((uv_handle_t *)&listener->poll, on_listener_closed);
    }
    server->listeners = NULL;
    for (struct conn *conn = server->host.first; conn != NULL; conn = conn_next(conn))
        conn_finish(conn);
    uv_close((uv_handle_t *)&server->timer, on_handle_closed);
    uv_close((uv_handle_t *)&server->turn, on_handle_closed);
}

/* Turns and time. */

static void on_turn(uv_idle_t *turn)
{
    struct server *server = turn->data;
    uv_idle_stop(turn);
    conn_turns(&server->host); /* may call soon again */
}

static void soon(struct conn_host *host)
{
    struct server *server = (struct server *)host;
    if (!server->is_closing)
        uv_idle_start(&server->turn, on_turn);
}

static void on_due(uv_timer_t *timer);

static void due(struct conn_host *host, uint64_t due_ms)
{
    struct server *server = (struct server *)host;
    if (server->is_closing || due_ms >= server->due_ms)
        return;
    uint64_t now = uv_now(host->loop);
    server->due_ms = due_ms;
    uv_timer_start(&server->timer, on_due, due_ms > now ? due_ms - now : 0, 0);
}

static void on_acceptable(uv_poll_t *poll, int status, int events);

static void resume_accepting(struct server *server)
{
    server->resume_ms = CONN_NEVER;
    if (server->spare_fd < 0)
        server->spare_fd = spare_fd();
    for (struct listener *listener = server->listeners; listener != NULL; listener = listener->next)
        uv_poll_start(&listener->poll, UV_READABLE, on_acceptable);
}

static void on_due(uv_timer_t *timer)
{
    struct server *server = timer->data;
    uint64_t now = uv_now(server->host.loop), next = CONN_NEVER;
    server->due_ms = CONN_NEVER;
    if (server->resume_ms <= now)
        resume_accepting(server);
    for (struct conn *conn = server->host.first; conn != NULL; conn = conn_next(conn)) {
        if (conn_due(conn) <= now)
            conn_expire(conn);
        if (conn_due(conn) < next)
            next = conn_due(conn);
    }
    if (server->resume_ms < next)
        next = server->resume_ms;
    if (next != CONN_NEVER)
        due(&server->host, next);
}

/* Accepting. */

static bool has_room_for(const struct server *server, const struct peer *peer)
{
    const struct server_limits *limits = &server->host.limits;
    bool is_exempt = peer->uid == 0 || peer->uid == geteuid();
    if (server->host.count >= limits->connections + (is_exempt ? SERVER_RESERVE : 0))
        return false;
    if (is_exempt)
        return true;
    const struct conn_user *user = conn_share_user(&server->host.share, peer->uid);
    return user == NULL || user->connections < limits->connections_per_user;
}

/* Refuses a waiting connection for which there is no descriptor: it would wake the loop for ever.
 * Accepts it with the spare descriptor and closes it. When even that fails, accepting pauses. */
static void refuse_one(struct server *server, int listening_fd)
{
    if (server->spare_fd >= 0) {
        close(server->spare_fd);
        int fd = accept4(listening_fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
            close(fd);
        server->spare_fd = spare_fd();
        if (fd >= 0 && server->spare_fd >= 0)
            return;
    }
    for (struct listener *listener = server->listeners; listener != NULL; listener = listener->next)
        uv_poll_stop(&listener->poll);
    server->resume_ms = uv_now(server->host.loop) + PAUSE_MS;
    due(&server->host, server->resume_ms);
}

static void on_acceptable(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct listener *listener = poll->data;
    struct server *server = listener->server;
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (fd < 0) {
            refuse_one(server, listener->fd);
            return;
        }
        struct peer peer;
        struct berth_err err = {0};
        if (peer_read(fd, &server->admins, &peer, &err) != BERTH_OK || !has_room_for(server, &peer))
            close(fd);
        else
            /* without memory it closes the connection, which is all that can be done */
            conn_new(&server->host, fd, &peer, &err);
    }
}

enum berth_code server_listen(struct server *server, int take_fd, const char *unlink_path,
                              struct berth_err *err)
{
    struct listener *listener = calloc(1, sizeof *listener);
    if (listener != NULL && unlink_path != NULL &&
        (listener->unlink_path = strdup(unlink_path)) == NULL) {
        free(listener);
        listener = NULL;
    }
    if (listener == NULL) {
        close(take_fd);
        return err_set(err, BERTH_NO_MEMORY, "no memory for a listening socket");
    }
    listener->server = server;
    listener->fd = take_fd;
    int failed = uv_poll_init(server->host.loop, &listener->poll, take_fd);
    if (failed != 0) {
        close(take_fd);
        free(listener->unlink_path);
        free(listener);
        return err_set(err, BERTH_IO, "cannot watch the listening socket: %s", uv_strerror(failed));
    }
    listener->poll.data = listener;
    listener->next = server->listeners;
    server->listeners = listener;
    server->handles++;
    uv_poll_start(&listener->poll, UV_READABLE, on_acceptable);
    return BERTH_OK;
}

/* Creation and settings. */

enum berth_code server_new(uv_loop_t *loop, const struct server_config *config,
                           struct server **ret_server, struct berth_err *err)
{
    struct server *server = calloc(1, sizeof *server);
    if (server == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the server");
    struct service_info info = {.vendor = config->vendor,
                                .product = config->product,
                                .version = config->version,
                                .url = config->url};
    enum berth_code code = service_new(config->methods, &info, &server->service, err);
    if (code == BERTH_OK && !reply_init(&server->host.reply))
        code = err_set(err, BERTH_NO_MEMORY, "no memory for the server");
    if (code != BERTH_OK) {
        service_free(server->service);
        free(server);
        return code;
    }
    struct conn_host *host = &server->host;
    host->loop = loop;
    host->notifier = config->notifier;
    host->log = config->log;
    host->worked = config->worked;
    host->context = (struct dispatch_context){
        .service = server->service, .daemon = config->daemon, .snapshot = config->snapshot};
    host->check_replies = config->check_replies;
    host->soon = soon;
    host->due = due;
    host->gone = on_conn_gone;
    server->due_ms = server->resume_ms = CONN_NEVER;
    server->spare_fd = spare_fd();
    server_configure(server, &config->limits, config->admin_group);
    uv_timer_init(loop, &server->timer);
    server->timer.data = server;
    uv_idle_init(loop, &server->turn);
    server->turn.data = server;
    server->handles = 2;
    signal(SIGPIPE, SIG_IGN);
    *ret_server = server;
    return BERTH_OK;
}

unsigned server_clients(const struct server *server) { return server->host.count; }

struct server_limits server_limits_of(const struct config *config)
{
    return (struct server_limits){
        .message_bytes = (size_t)config->max_message_bytes,
        .unsent_bytes = (size_t)config->max_unsent_bytes,
        .unsent_bytes_per_user = (size_t)config->max_unsent_bytes_per_user,
        .unsent_bytes_in_all = (size_t)config->max_unsent_bytes_in_all,
        .input_bytes_per_user = (size_t)config->max_input_bytes_per_user,
        .input_bytes_in_all = (size_t)config->max_input_bytes_in_all,
        .large_calls_per_user = (unsigned)config->max_large_calls_per_user,
        .connections = (unsigned)config->max_connections,
        .connections_per_user = (unsigned)config->max_connections_per_user,
        .queued_calls = (unsigned)config->max_queued_calls,
        .idle_ms = (uint64_t)config->idle_timeout_s * 1000,
        .unread_ms = (uint64_t)config->unread_timeout_s * 1000,
        .half_message_ms = (uint64_t)config->half_message_timeout_s * 1000,
    };
}

void server_configure(struct server *server, const struct server_limits *limits,
                      const char *admin_group)
{
    server->host.limits = *limits;
    server->admins = peer_admins_of(admin_group);
    for (struct conn *conn = server->host.first; conn != NULL; conn = conn_next(conn))
        if (!conn_is_closing(conn)) {
            /* keeps its rights on failure */
            peer_read(conn_fd(conn), &server->admins, conn_peer(conn), NULL);
            if (conn_due(conn) != CONN_NEVER)
                /* earlier when the limit is shorter now */
                due(&server->host, conn_due(conn));
        }
}
