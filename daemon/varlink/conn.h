/**
 * One connection: messages in, replies out, calls strictly in order and one at a time. Loop thread
 * only.
 *
 * Room: no call begins while more than unsent_bytes of replies wait for the peer to read. A stream
 * makes its next reply only when nothing waits. So a peer that does not read costs at most
 * unsent_bytes and one reply.
 *
 * Limits of a user: replies on all connections of a user may hold unsent_bytes_per_user, and at
 * most the rest of unsent_bytes_in_all. Beyond that only its connections with nothing unread are
 * answered, and only with small replies. Large replies, plans and messages are made and parsed on
 * the thread pool. A user has large_calls_per_user connections there at a time, and all users
 * together have CONN_ROOM_WORKING. The user that was served least recently is next. A user whose
 * calls take long there is greedy, and gets the slow thread. A stream that began with work on the
 * pool counts for its user until it ends.
 *
 * Time: work on the loop goes round by user (varlink/conn_share.h), one call or reply at a time.
 * The loop polls its sockets in between.
 *
 * Reading stops while a call is being answered and more than queued_calls whole messages, or
 * message_bytes, wait behind it. It also stops without room for input (varlink/conn_input.h). The
 * kernel's buffer then fills and the peer's writes block. Reading resumes when all waiting messages
 * are answered.
 */
#pragma once
#include <uv.h>

#include "base/err.h"
#include "base/log_limit.h"
#include "varlink/conn_clock.h"
#include "varlink/conn_input.h"
#include "varlink/conn_room.h"
#include "varlink/conn_share.h"
#include "varlink/dispatch.h"
#include "varlink/method.h"
#include "varlink/notifier.h"
#include "varlink/reply.h"
#include "varlink/server_limits.h"

struct conn;

/* State that the connections of a server share; all borrowed. */
struct conn_host {
    uv_loop_t *loop;
    struct notifier *notifier;
    struct dispatch_context context;
    struct server_limits limits;
    struct log_limit *log; /* NULL: no limit */
    bool check_replies;
    struct print reply;
    struct conn *first; /* all connections, until freed */
    unsigned count;
    struct conn_share share;
    struct conn_rooms rooms;
    struct conn_budget budget;
    /* NULL until a user is greedy; the host closes it when all connections are gone */
    struct conn_slow *slow;

    void (*soon)(
        struct conn_host *host); /* requests conn_turns in the next iteration of the loop */
    /* requests conn_expire at that time of the loop, or earlier */
    void (*due)(struct conn_host *host, uint64_t due_ms);
    void (*gone)(struct conn_host *host); /* a connection was freed */
    /* work on the thread pool has ended; NULL fine */
    void (*worked)(struct daemon *daemon);
};

/* Starts answering take_fd, which is closed in any case. Fails with NO_MEMORY and IO. The
 * connection frees itself. */
enum berth_code conn_new(struct conn_host *host, int take_fd, const struct peer *peer,
                         struct berth_err *err);

/* Begins work for free threads, then answers calls, each user's in its turn, for 15 microseconds or
 * one call. */
void conn_turns(struct conn_host *host);

/* Returns the time at which conn_expire must be called, in the loop's ms; CONN_NEVER. */
uint64_t conn_due(const struct conn *conn);

/* Closes a connection whose time is over. */
void conn_expire(struct conn *conn);

/* Sends the reply of a stream that is due, if the peer has room, and ends the connection. */
void conn_finish(struct conn *conn);

/* Ends the connection now; replies that did not fit the socket are lost. It is freed later, when
 * its work on the pool has ended. */
void conn_close(struct conn *conn);

struct conn *conn_next(const struct conn *conn);
struct peer *conn_peer(struct conn *conn);
int conn_fd(const struct conn *conn);
bool conn_is_closing(const struct conn *conn);
