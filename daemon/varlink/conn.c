#include "varlink/conn.h"

#include <assert.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "varlink/conn_state.h"

#define TURN_NS 15000 /* before the loop polls its sockets again */

static void conn_check(const struct conn *conn)
{
    assert((conn->state == OPENED || conn->state == QUEUED || conn->state == WORKING ||
            conn->state == STREAMING) == (conn->call.message != NULL));
    assert(conn_is_asking(conn) == conn->room.is_asking);
    assert(conn->state == STREAMING || conn->listener.prev == NULL);
    assert(!conn->input.is_reading ||
           !(conn->input.is_ended || conn->is_finishing || conn->is_closing ||
             conn->state == UNOPENED || conn->state == OPENING));
    assert(!conn->input.is_reading || !wire_is_full(&conn->input.wire));
    assert(!conn->is_closing || conn->state == BETWEEN || conn_is_on_pool(conn));
    (void)conn;
}

/* Sending. */

static void on_moved(struct outbox *outbox, bool ok)
{
    struct conn *conn = (struct conn *)((char *)outbox - offsetof(struct conn, outbox));
    if (!ok) {
        conn_close(conn);
        return;
    }
    conn_wake_queued(conn->host);
    conn_ask_turn(conn);
}

/* Reading. */

static void input_failed(struct conn_input *input) { conn_close(conn_of_input(input)); }

static bool peer_is_gone(const struct conn *conn)
{
    struct pollfd fd = {.fd = conn_fd(conn)};
    return poll(&fd, 1, 0) == 1 && (fd.revents & (POLLHUP | POLLERR)) != 0;
}

/* True when the peer of the current call has left, so that its answer has no reader. A message is
 * parsed first: it may be oneway. */
static bool is_abandoned(const struct conn *conn)
{
    bool acts_unread = conn->call.oneway && conn->outcome.acts;
    return (conn->state == QUEUED || conn->state == WORKING || conn->state == STREAMING) &&
           !acts_unread && peer_is_gone(conn);
}

/* Closes the connection if its input has ended and nobody waits for the answer. Returns true while
 * it is closing. */
static bool close_abandoned(struct conn *conn)
{
    if (!conn->is_closing && conn->input.is_ended && is_abandoned(conn))
        conn_close(conn);
    return conn->is_closing;
}

static void settle(struct conn *conn, bool progressed);

static void input_filled(struct conn_input *input)
{
    struct conn *conn = conn_of_input(input);
    if (input->is_reading)
        settle(conn, false);
    if (!input->is_reading || conn->state == BETWEEN)
        conn_ask_turn(conn);
}

static void input_ended(struct conn_input *input)
{
    struct conn *conn = conn_of_input(input);
    if (!close_abandoned(conn))
        conn_ask_turn(conn);
}

static enum conn_wait wait_of(const struct conn *conn)
{
    if (conn->is_finishing)
        return WAIT_NONE; /* only unread replies have a time limit */
    if (conn->state != BETWEEN)
        return conn->input.is_reading ? WAIT_NONE : WAIT_PEER;
    return wire_is_partial(&conn->input.wire) ? WAIT_HALF : WAIT_IDLE;
}

/* Runs after every event: closes a connection without anything left to do, starts or stops reading,
 * and sets the clock. */
static void settle(struct conn *conn, bool progressed)
{
    if (conn->is_closing)
        return;
    if (conn->input.is_ended && conn->state == BETWEEN && conn->input.wire.complete == 0)
        conn->is_finishing = true;
    if (conn->is_finishing && outbox_unsent(&conn->outbox) == 0) {
        conn_close(conn);
        return;
    }
    unsigned waiting = conn->input.wire.complete;
    bool is_kept = conn->state == UNOPENED || conn->state == OPENING,
         few = conn->input.is_reading ? waiting <= conn->host->limits.queued_calls : waiting == 0;
    if (!is_kept)
        conn_input_release(&conn->input);
    if (!conn_input_read(&conn->input, few && !is_kept && !conn->is_finishing)) {
        conn_close(conn);
        return;
    }
    conn_clock_set(&conn->clock, wait_of(conn), progressed, outbox_unsent(&conn->outbox),
                   outbox_gone(&conn->outbox), uv_now(conn->host->loop));
    uint64_t due = conn_due(conn);
    if (due != CONN_NEVER)
        conn->host->due(conn->host, due);
    conn_check(conn);
}

/* Makes one call, or one reply of a stream. False when there is nothing to do now. */
static bool answer_one(struct conn *conn)
{
    const char *text;
    size_t length;
    if (close_abandoned(conn) || conn->is_finishing)
        return false;
    if (conn->state == OPENED)
        return conn_call_run(conn), true;
    if (conn->state == STREAMING)
        return outbox_unsent(&conn->outbox) == 0 && conn_call_pull(conn);
    if (conn->state != BETWEEN || !conn_room_for_call(&conn->room, &conn->host->limits))
        return false;
    if (wire_next(&conn->input.wire, &text, &length))
        return conn_call_open(conn, text, length), true;
    if (wire_is_full(&conn->input.wire))
        conn_call_refuse_long(conn);
    return false;
}

static void run_once(struct conn *conn)
{
    bool progressed = answer_one(conn);
    settle(conn, progressed);
    if (progressed)
        conn_ask_turn(conn);
}

static void feed_starved(struct conn_host *host)
{
    host->budget.was_freed = false;
    for (struct conn *conn = host->first; conn != NULL && host->budget.starved > 0;
         conn = conn->next)
        if (conn->input.is_starved && !conn->is_closing)
            settle(conn, false);
}

void conn_turns(struct conn_host *host)
{
    uint64_t begin = uv_hrtime(), now = begin;
    struct conn_room *room;
    struct conn_share_seat *seat;
    while ((room = conn_room_next(&host->rooms, &host->limits, begin)) != NULL) {
        if (room->is_slow && host->slow == NULL)
            host->slow = conn_slow_new(host->loop);
        struct conn *conn = (struct conn *)((char *)room - offsetof(struct conn, room));
        if (close_abandoned(conn))
            continue;
        conn_call_work(conn);
        settle(conn, true);
    }
    if (host->budget.starved > 0 && host->budget.was_freed)
        feed_starved(host);
    while (now - begin < TURN_NS && (seat = conn_share_next(&host->share)) != NULL) {
        struct conn_user *user = seat->user;
        run_once((struct conn *)((char *)seat - offsetof(struct conn, seat)));
        uint64_t after = uv_hrtime();
        conn_share_charge(user, after - now);
        now = after;
    }
    if (host->share.turns != NULL)
        host->soon(host);
}

/* Time. */

uint64_t conn_due(const struct conn *conn)
{
    return conn->is_closing ? CONN_NEVER : conn_clock_due(&conn->clock, &conn->host->limits);
}

void conn_expire(struct conn *conn)
{
    bool must_check;
    if (conn_clock_expired(&conn->clock, &conn->host->limits, outbox_gone(&conn->outbox),
                           uv_now(conn->host->loop), &must_check) ||
        (must_check && is_abandoned(conn)))
        conn_close(conn);
}

/* Creation, and functions for the server. */

enum berth_code conn_new(struct conn_host *host, int take_fd, const struct peer *peer,
                         struct berth_err *err)
{
    struct conn *conn = calloc(1, sizeof *conn);
    if (conn == NULL) {
        close(take_fd);
        return err_set(err, BERTH_NO_MEMORY, "no memory for a connection");
    }
    conn->host = host;
    conn->peer = *peer;
    conn->listener.woken = conn_call_woken;
    if (!conn_share_join(&host->share, &conn->seat, peer->uid)) {
        close(take_fd);
        free(conn);
        return err_set(err, BERTH_NO_MEMORY, "no memory for a connection");
    }
    struct conn_user *user = conn->seat.user;
    uv_stream_t *stream = (uv_stream_t *)&conn->pipe;
    conn->outbox = (struct outbox){.stream = stream,
                                   .moved = on_moved,
                                   .held_bytes = {&user->unsent_bytes, &host->rooms.unsent_bytes}};
    conn_room_join(&conn->room, &host->rooms, user, &conn->outbox);
    conn->input = (struct conn_input){.stream = stream,
                                      .budget = &host->budget,
                                      .user = user,
                                      .limits = &host->limits,
                                      .filled = input_filled,
                                      .ended = input_ended,
                                      .failed = input_failed};
    wire_init(&conn->input.wire, host->limits.message_bytes);
    uv_pipe_init(host->loop, &conn->pipe, 0);
    conn->pipe.data = &conn->input;
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

void conn_finish(struct conn *conn)
{
    if (conn->state == STREAMING && !conn->is_closing && outbox_unsent(&conn->outbox) == 0)
        conn_call_pull(conn);
    conn_close(conn);
}

bool conn_is_closing(const struct conn *conn) { return conn->is_closing; }
struct conn *conn_next(const struct conn *conn) { return conn->next; }
struct peer *conn_peer(struct conn *conn) { return &conn->peer; }

int conn_fd(const struct conn *conn)
{
    uv_os_fd_t fd = -1;
    uv_fileno((const uv_handle_t *)&conn->pipe, &fd);
    return fd;
}
