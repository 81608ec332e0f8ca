/*
 * States of a connection, and what moves it on:
 *
 *   BETWEEN ---call---> QUEUED ---room---> WORKING ---work done---> BETWEEN
 *      |                                      `------work done---> STREAMING
 *      `------call---> STREAMING ---last reply, error---> BETWEEN
 *
 * Beside that, input may have ended (the peer shut its side down or left): what it asked for is still answered. Finishing
 * means that only what is already written goes out, then it closes. Closing is for good.
 *
 * Invariants:
 *  1. There is a call exactly while QUEUED, WORKING or STREAMING.
 *  2. It listens to the hub exactly while STREAMING.
 *  3. While WORKING, the call and the outcome's state belong to the pool: they are not freed before work_done.
 *  4. It asks for room exactly while QUEUED.
 *  5. It is freed when its handle is closed and it is not WORKING.
 *  6. It reads only when it could keep what comes.
 */
#include "conn.h"

#include <assert.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conn_work.h"
#include "log.h"
#include "outbox.h"
#include "wire.h"

#define TURN_STEPS 16 /* calls or replies before other connections get their turn */

enum conn_state { BETWEEN, QUEUED, WORKING, STREAMING };

struct conn {
    uv_pipe_t pipe;
    struct conn_host *host;
    struct conn *prev, *next;
    struct peer peer;
    struct wire wire;
    struct outbox outbox;
    struct conn_room room;

    enum conn_state state;
    struct dispatch call;
    struct outcome outcome;
    struct hub_listener listener;

    struct conn_work work;

    bool is_ready, is_reading, input_ended, is_finishing, is_closing, is_closed;
    struct conn_clock clock;
};

static void conn_check(const struct conn *conn)
{
    assert((conn->state != BETWEEN) == (conn->call.message != NULL));
    assert((conn->state == QUEUED) == (conn->room.ticket > 0));
    assert(conn->state == STREAMING || conn->listener.prev == NULL);
    assert(!conn->is_reading || !(conn->input_ended || conn->is_finishing || conn->is_closing));
    assert(!conn->is_reading || !wire_is_full(&conn->wire));
    assert(!conn->is_closing || conn->state == BETWEEN || conn->state == WORKING);
    (void)conn;
}

/* After something that may have made room. */
static void wake_queued(struct conn_host *host)
{
    if (host->rooms.asking == 0)
        return;
    for (struct conn *conn = host->first; conn != NULL; conn = conn->next)
        conn->is_ready |= conn->state == QUEUED;
    host->soon(host);
}

/* The end. */

static void free_when_over(struct conn *conn)
{
    if (!conn->is_closed || conn->state == WORKING)
        return;
    struct conn_host *host = conn->host;
    if (conn->prev != NULL)
        conn->prev->next = conn->next;
    else
        host->first = conn->next;
    if (conn->next != NULL)
        conn->next->prev = conn->prev;
    host->count--;
    wire_done(&conn->wire);
    conn_room_leave(&conn->room);
    free(conn);
    wake_queued(host);
    host->gone(host);
}

static void on_closed(uv_handle_t *handle)
{
    struct conn *conn = handle->data;
    conn->is_closed = true;
    free_when_over(conn);
}

static void end_call(struct conn *conn)
{
    hub_leave(conn->host->hub, &conn->listener);
    if (conn->outcome.free_state != NULL)
        conn->outcome.free_state(conn->outcome.state);
    conn->outcome = (struct outcome){.kind = OUTCOME_RESULT};
    dispatch_done(&conn->call);
    conn->state = BETWEEN;
    conn_room_let_go(&conn->room);
    wake_queued(conn->host);
}

void conn_close(struct conn *conn)
{
    if (conn->is_closing)
        return;
    conn->is_closing = true;
    conn->is_reading = false;
    conn->is_ready = false;
    if (conn->state == STREAMING || conn->state == QUEUED)
        end_call(conn);
    if (conn->state == WORKING)
        conn_work_cancel(&conn->work);
    uv_close((uv_handle_t *)&conn->pipe, on_closed);
}

/* Sending. */

static void on_moved(struct outbox *outbox, bool ok)
{
    struct conn *conn = (struct conn *)((char *)outbox - offsetof(struct conn, outbox));
    if (!ok) {
        conn_close(conn);
        return;
    }
    wake_queued(conn->host);
    conn_run(conn);
}

/* Half a reply cannot be taken back, so one that fails ends the connection. */
static void send_reply(struct conn *conn, const struct print *reply)
{
    if (!outbox_send(&conn->outbox, reply->data, reply->length))
        conn_close(conn);
}

static void give_reply(struct conn *conn, struct print *reply)
{
    if (!outbox_give(&conn->outbox, reply->data, reply->length))
        conn_close(conn);
    *reply = (struct print){0};
}

static void answer_error(struct conn *conn, struct berth_err *err)
{
    if (conn->call.oneway || conn->is_closing)
        return;
    struct berth_err undeclared = {0};
    if (conn->host->check_replies && dispatch_check_error(&conn->call, err->code, &undeclared) != BERTH_OK)
        err = &undeclared;
    reply_error(&conn->host->reply, dispatch_interface(&conn->call), err);
    send_reply(conn, &conn->host->reply);
}

static void answer_result(struct conn *conn, json_t *take_result, bool continues)
{
    struct berth_err err = {0};
    if (conn->call.oneway || conn->is_closing)
        json_decref(take_result);
    else if (dispatch_print(&conn->call, conn->host->check_replies, take_result, continues, &conn->host->reply, &err) == BERTH_OK)
        send_reply(conn, &conn->host->reply);
    else
        answer_error(conn, &err);
}

static void answer_written(struct conn *conn)
{
    struct berth_err err = {0};
    if (conn->call.oneway)
        return;
    if (dispatch_write(&conn->call, conn->host->check_replies, &conn->outcome, &conn->host->reply, &err) == BERTH_OK)
        send_reply(conn, &conn->host->reply);
    else
        answer_error(conn, &err);
}

/* Calls: work, streams, plain results. */

static void work_done(struct conn_work *work)
{
    struct conn *conn = (struct conn *)((char *)work - offsetof(struct conn, work));
    if (conn->host->worked != NULL)
        conn->host->worked(conn->host->context.daemon);
    conn_room_worked(&conn->room);
    wake_queued(conn->host);
    if (work->code == BERTH_OK && conn->outcome.kind == OUTCOME_STREAM && !conn->is_closing) {
        conn->state = STREAMING;
        hub_listen(conn->host->hub, &conn->listener);
    } else {
        if (work->code != BERTH_OK)
            answer_error(conn, &work->err);
        else if (!conn->call.oneway && !conn->is_closing)
            give_reply(conn, &work->reply);
        end_call(conn);
    }
    print_done(&work->reply);
    if (conn->is_closing)
        free_when_over(conn);
    else
        conn_run(conn);
}

static void start_work(struct conn *conn)
{
    struct berth_err err = {0};
    conn->work.call = &conn->call;
    conn->work.outcome = &conn->outcome;
    conn->work.check_replies = conn->host->check_replies;
    conn->work.done = work_done;
    conn->state = WORKING;
    if (conn_work_start(&conn->work, conn->host->loop, &err) == BERTH_OK)
        return;
    answer_error(conn, &err);
    end_call(conn);
}

/* Returns whether to go on at once. */
static bool pull_stream(struct conn *conn)
{
    json_t *reply = NULL;
    struct berth_err err = {0};
    switch (conn->outcome.next(conn->outcome.state, &reply, &err)) {
    case STREAM_WAIT:
        return false;
    case STREAM_REPLY:
        if (conn->call.more)
            answer_result(conn, reply, true);
        else
            json_decref(reply);
        return true;
    case STREAM_LAST:
        answer_result(conn, reply, false);
        break;
    case STREAM_ERROR:
        answer_error(conn, &err);
        break;
    }
    if (conn->state == STREAMING) /* a failed write may have ended it */
        end_call(conn);
    return true;
}

static void on_woken(struct hub_listener *listener)
{
    struct conn *conn = (struct conn *)((char *)listener - offsetof(struct conn, listener));
    conn->is_ready = true;
    conn->host->soon(conn->host);
}

static void take_call(struct conn *conn, const char *text, size_t length)
{
    struct berth_err err = {0};
    enum berth_code opened = dispatch_open(&conn->call, text, length, &err);
    if (opened == BERTH_NO_MEMORY) {
        answer_error(conn, &err);
        return;
    }
    if (opened != BERTH_OK) {
        log_line(LOG_LEVEL_NOTICE, "a connection of uid %lu is closed: %s", (unsigned long)conn->peer.uid, err.detail);
        conn->is_finishing = true; /* there is no telling what the peer thinks it said */
        return;
    }
    struct outcome outcome = {.kind = OUTCOME_RESULT};
    enum berth_code code = dispatch_call(&conn->call, &conn->host->context, &conn->peer, &outcome, &err);
    if (code != BERTH_OK) {
        err_set(&err, code, "%s", err_info(code)->about); /* if the handler did not say it better */
        answer_error(conn, &err);
        end_call(conn);
        return;
    }
    conn->outcome = outcome;
    if (outcome.kind == OUTCOME_RESULT) {
        outcome.write != NULL ? answer_written(conn) : answer_result(conn, outcome.result, false);
        end_call(conn);
        return;
    }
    if (outcome.kind == OUTCOME_STREAM && conn->call.oneway) {
        end_call(conn); /* nobody would see what it yields */
    } else if (outcome.kind == OUTCOME_WORK || outcome.work != NULL) {
        conn->state = QUEUED;
        conn_room_ask(&conn->room);
    } else {
        conn->state = STREAMING;
        hub_listen(conn->host->hub, &conn->listener);
    }
}

static void refuse_long_message(struct conn *conn)
{
    struct berth_err err = {0};
    err_set(&err, BERTH_INVALID_PARAMETER, "a message of more than %zu bytes", conn->wire.limit);
    err_text(&err, 0, "message");
    answer_error(conn, &err);
    conn->is_finishing = true;
}

/* Reading. */

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    (void)suggested;
    struct conn *conn = handle->data;
    char *room = NULL;
    size_t size = 0;
    if (!wire_room(&conn->wire, &room, &size))
        size = 0; /* libuv reports ENOBUFS to on_read */
    *buffer = uv_buf_init(room, (unsigned)size);
}

static bool peer_is_gone(const struct conn *conn)
{
    struct pollfd fd = {.fd = conn_fd(conn)};
    return poll(&fd, 1, 0) == 1 && (fd.revents & (POLLHUP | POLLERR)) != 0;
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    (void)buffer;
    struct conn *conn = stream->data;
    if (size == 0)
        return;
    if (size > 0) {
        wire_filled(&conn->wire, (size_t)size);
    } else if (size == UV_ENOBUFS) {
        conn_close(conn);
        return;
    } else {
        uv_read_stop(stream);
        conn->is_reading = false;
        conn->input_ended = true;
        if ((conn->state == STREAMING || conn->state == QUEUED) && peer_is_gone(conn)) {
            conn_close(conn);
            return;
        }
    }
    conn_run(conn);
}

static void read_or_not(struct conn *conn)
{
    bool ended = conn->input_ended || conn->is_finishing || wire_is_full(&conn->wire);
    unsigned waiting = conn->wire.complete;
    bool wanted = !ended && (conn->is_reading ? waiting <= conn->host->limits.queued_calls : waiting == 0);
    if (wanted == conn->is_reading)
        return;
    if (!wanted)
        uv_read_stop((uv_stream_t *)&conn->pipe);
    else if (uv_read_start((uv_stream_t *)&conn->pipe, on_room, on_read) != 0) {
        conn_close(conn);
        return;
    }
    conn->is_reading = wanted;
}

static enum conn_wait wait_of(const struct conn *conn)
{
    if (conn->is_finishing)
        return WAIT_NONE; /* but for what it has not read */
    if (conn->state != BETWEEN)
        return conn->is_reading ? WAIT_NONE : WAIT_PEER;
    return wire_is_partial(&conn->wire) ? WAIT_HALF : WAIT_IDLE;
}

/* After anything happened: close when all is said, read or not, and let the right clock run. */
static void settle(struct conn *conn, bool progressed)
{
    if (conn->input_ended && conn->state == BETWEEN && conn->wire.complete == 0)
        conn->is_finishing = true;
    if (conn->is_finishing && outbox_unsent(&conn->outbox) == 0) {
        conn_close(conn);
        return;
    }
    read_or_not(conn);
    if (conn->is_closing)
        return;
    conn_clock_set(&conn->clock, wait_of(conn), progressed, outbox_unsent(&conn->outbox), outbox_gone(&conn->outbox), uv_now(conn->host->loop));
    uint64_t due = conn_due(conn);
    if (due != CONN_NEVER)
        conn->host->due(conn->host, due);
    conn_check(conn);
}

/* One call, or one reply of a stream. Returns false when there is nothing to do now. */
static bool step(struct conn *conn)
{
    if (conn->is_closing || conn->is_finishing || conn->state == WORKING)
        return false;
    if (conn->state == STREAMING)
        return outbox_unsent(&conn->outbox) == 0 && pull_stream(conn);
    if (conn->state == QUEUED) {
        if (conn_room_take(&conn->room, &conn->host->limits)) {
            start_work(conn);
            wake_queued(conn->host); /* the next one may have room, too */
        }
        return conn->state == BETWEEN;
    }
    if (!conn_room_for_call(&conn->room, &conn->host->limits))
        return false;
    const char *text;
    size_t length;
    if (wire_next(&conn->wire, &text, &length)) {
        take_call(conn, text, length);
        return true;
    }
    if (wire_is_full(&conn->wire))
        refuse_long_message(conn);
    return false;
}

void conn_run(struct conn *conn)
{
    if (conn->is_closing)
        return;
    conn->is_ready = false;
    unsigned steps = 0;
    while (steps < TURN_STEPS && step(conn))
        steps++;
    if (conn->is_closing)
        return;
    if (steps == TURN_STEPS) {
        conn->is_ready = true;
        conn->host->soon(conn->host);
    }
    settle(conn, steps > 0);
}

/* Time. */

uint64_t conn_due(const struct conn *conn)
{
    return conn->is_closing ? CONN_NEVER : conn_clock_due(&conn->clock, &conn->host->limits);
}

void conn_expire(struct conn *conn)
{
    bool look;
    if (conn_clock_expired(&conn->clock, &conn->host->limits, outbox_gone(&conn->outbox), uv_now(conn->host->loop), &look) ||
        (look && peer_is_gone(conn)))
        conn_close(conn);
}

/* The beginning, and what the server asks. */

enum berth_code conn_new(struct conn_host *host, int take_fd, const struct peer *peer, struct berth_err *err)
{
    struct conn *conn = calloc(1, sizeof *conn);
    if (conn == NULL) {
        close(take_fd);
        return err_set(err, BERTH_NO_MEMORY, "no memory for a connection");
    }
    conn->host = host;
    conn->peer = *peer;
    conn->listener.woken = on_woken;
    conn->outbox = (struct outbox){.stream = (uv_stream_t *)&conn->pipe, .moved = on_moved};
    conn_room_join(&conn->room, &host->rooms, peer->uid, &conn->outbox);
    wire_init(&conn->wire, host->limits.message_bytes);
    uv_pipe_init(host->loop, &conn->pipe, 0);
    conn->pipe.data = conn;
    conn->next = host->first;
    if (host->first != NULL)
        host->first->prev = conn;
    host->first = conn;
    host->count++;
    int failed = uv_pipe_open(&conn->pipe, take_fd);
    if (failed != 0) {
        close(take_fd);
        conn_close(conn);
        return err_set(err, BERTH_IO, "cannot watch a connection: %s", uv_strerror(failed));
    }
    settle(conn, true);
    return BERTH_OK;
}

bool conn_is_ready(const struct conn *conn) { return conn->is_ready; }
bool conn_is_closing(const struct conn *conn) { return conn->is_closing; }
struct conn *conn_next(const struct conn *conn) { return conn->next; }
struct peer *conn_peer(struct conn *conn) { return &conn->peer; }

int conn_fd(const struct conn *conn)
{
    uv_os_fd_t fd = -1;
    uv_fileno((const uv_handle_t *)&conn->pipe, &fd);
    return fd;
}
