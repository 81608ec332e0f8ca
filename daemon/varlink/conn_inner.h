/**
 * A connection from within, for varlink/conn.c, which reads and takes turns, varlink/conn_call.c,
 * which answers, and varlink/conn_end.c, which ends.
 *
 * States of a connection, and what moves it on:
 *
 *   BETWEEN ---call---> QUEUED ---room---> WORKING ---work done---> BETWEEN
 *      |                                      `------work done---> STREAMING
 *      |------call---> STREAMING ---last reply, error---> BETWEEN
 *      `------large message---> UNOPENED ---room---> OPENING ---read---> OPENED ---call---> as from
 * BETWEEN
 *
 * Beside that, input may have ended (the peer shut its side down or left): what it asked for is
 * still answered. Finishing means that only what is already written goes out, then it closes.
 * Closing is for good.
 *
 * Invariants:
 *  1. There is a call exactly while OPENED, QUEUED, WORKING or STREAMING.
 *  2. It listens to the notifier exactly while STREAMING.
 *  3. While OPENING, what came in, and while WORKING, the call and the outcome's state belong to
 * the pool: they are not freed before it is done.
 *  4. It asks for room exactly while QUEUED or UNOPENED.
 *  5. It is freed when its handle is closed and it is on the pool no more.
 *  6. It reads only when it could keep what comes.
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

/* It is to be looked at in its user's turn. */
void conn_want_turn(struct conn *conn);

/* Schedules another turn after room on the pool or input budget was freed, if a connection waits
 * for either. */
void conn_wake_queued(struct conn_host *host);

/* After its work is over: a connection that waited for that with being freed is. */
void conn_free_when_over(struct conn *conn);

/* Ends the call, if there is one, and what it holds. */
void conn_end_call(struct conn *conn);

/* While BETWEEN: opens and runs the call that length bytes at text are, or asks for room to. */
void conn_call_take(struct conn *conn, const char *text, size_t length);

/* While OPENED: runs the call. */
void conn_call_run(struct conn *conn);

/* While it asks for room and has got it: begins its work. */
void conn_call_work(struct conn *conn);

/* While STREAMING: the next reply. Returns whether to go on at once. */
bool conn_call_pull(struct conn *conn);

/* The notifier says that a stream may have more. */
void conn_call_woken(struct notifier_listener *listener);

/* While BETWEEN: what came in is longer than a message may be. */
void conn_call_refuse_long(struct conn *conn);
