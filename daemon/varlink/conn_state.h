/**
 * Members and states of a connection, for varlink/conn.c, which reads and takes turns,
 * varlink/conn_call.c, which answers, and varlink/conn_end.c, which ends.
 *
 * States of a connection, and the events between them:
 *
 *   BETWEEN ---call---> QUEUED ---room---> WORKING ---work done---> BETWEEN
 *      |                                      `------work done---> STREAMING
 *      |------call---> STREAMING ---last reply, error---> BETWEEN
 *      `------large message---> UNOPENED ---room---> OPENING ---parsed---> OPENED
 *   OPENED has the same edges for its call as BETWEEN
 *
 * Beside the state, input may have ended (the peer shut its side down or left): its calls are still
 * answered. Finishing means that only written replies go out, then the connection closes. Closing
 * is for good.
 *
 * Invariants:
 *  1. There is a call exactly while OPENED, QUEUED, WORKING or STREAMING.
 *  2. The connection listens to the notifier exactly while STREAMING.
 *  3. While OPENING, the input belongs to the pool; while WORKING, the call and the outcome's state
 *     do. They are not freed before it is done.
 *  4. The connection asks for room exactly while QUEUED or UNOPENED.
 *  5. It is freed when its handle is closed and it has no work on the pool.
 *  6. It reads only while it has room for the input.
 */
#pragma once
#include <stddef.h>

#include "varlink/conn.h"
#include "varlink/conn_work.h"
#include "varlink/outbox.h"

enum conn_state { BETWEEN, UNOPENED, OPENING, OPENED, QUEUED, WORKING, STREAMING };

struct conn {
    uv_pipe_t pipe;
    struct conn_host *host;
    struct conn *prev, *next;
    struct peer peer;
    struct conn_input input;
    struct outbox outbox;
    struct conn_room room;
    struct conn_share_seat seat;

    enum conn_state state;
    struct dispatch call;
    struct outcome outcome;
    struct notifier_listener listener;

    struct conn_work work;

    bool is_finishing, is_closing, is_closed;
    struct conn_clock clock;
};

static inline bool conn_is_on_pool(const struct conn *conn)
{
    return conn->state == OPENING || conn->state == WORKING;
}
static inline bool conn_is_asking(const struct conn *conn)
{
    return conn->state == UNOPENED || conn->state == QUEUED;
}

static inline struct conn *conn_of_input(const struct conn_input *input)
{
    return (struct conn *)((char *)input - offsetof(struct conn, input));
}

/* Asks for a turn of the connection's user, in which the connection is served. */
void conn_ask_turn(struct conn *conn);

/* Schedules another turn after room on the pool or input budget was freed, if a connection waits
 * for either. */
void conn_wake_queued(struct conn_host *host);

/* Frees a connection that is closed and has no work on the pool; called after either. */
void conn_free_when_over(struct conn *conn);

/* Ends the call, if there is one, with its state and its room. */
void conn_end_call(struct conn *conn);

/* BETWEEN: parses and runs the call in the length bytes at text, or asks for room to parse it. */
void conn_call_open(struct conn *conn, const char *text, size_t length);

/* OPENED: runs the call. */
void conn_call_run(struct conn *conn);

/* Room granted: begins the work. */
void conn_call_work(struct conn *conn);

/* STREAMING: sends the next reply. True when the stream may have another one now. */
bool conn_call_pull(struct conn *conn);

/* Called by the notifier when a stream may have more. */
void conn_call_woken(struct notifier_listener *listener);

/* BETWEEN: refuses input that is longer than a message may be. */
void conn_call_refuse_long(struct conn *conn);
