/**
 * One connection: messages in, replies out, calls strictly in order and one at a time. Loop thread
 * only.
 *
 * Room: a call is not begun while more than unsent_bytes of replies wait for the peer to read, and
 * a stream is asked for its next reply only when nothing waits. So a peer that does not read costs
 * at most unsent_bytes and one reply.
 *
 * Together: while replies of more than unsent_bytes_per_user, or than is left of
 * unsent_bytes_in_all, wait on all connections of a user, only those of them are answered that have
 * read everything, and with small replies alone. Large replies, plans and messages are made and
 * opened on the thread pool, for large_calls_per_user connections of a user at a time and
 * CONN_ROOM_WORKING of everybody; the user that was served least recently is next. A user whose
 * calls take long there is greedy, and has the slow thread. A stream of what was made counts for
 * its user until it ends.
 *
 * Time: what is done on the loop goes round by user (varlink/conn_share.h), one call or reply at a
 * time, and the loop looks at its sockets in between.
 *
 * Reading: stops while a call is being answered and more than queued_calls whole messages, or
 * message_bytes, wait behind it, and where there is no room (varlink/conn_input.h); the kernel's
 * buffer fills then and the peer's writes block. It goes on when all of them are answered.
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

/* What the connections of a server share; all borrowed. */
struct conn_host {
    uv_loop_t *loop;
    struct notifier *notifier;
    struct dispatch_context context;
    struct server_limits limits;
    struct log_limit *log; /* NULL: no limit */
    bool check_replies;
    struct print reply;
    struct conn *first; /* all of them, until gone */
    unsigned count;
    struct conn_share share;
    struct conn_rooms rooms;
    struct conn_budget budget;
    /* NULL until a user is greedy; the host closes it when all connections are gone */
    struct conn_slow *slow;

    void (*soon)(struct conn_host *host); /* call conn_turns in the next turn of the loop */
    /* call conn_expire at that time of the loop, or earlier */
    void (*due)(struct conn_host *host, uint64_t due_ms);
    void (*gone)(struct conn_host *host); /* a connection was freed */
    /* work on the thread pool has ended; NULL fine */
    void (*worked)(struct daemon *daemon);
};

/* Starts answering take_fd, which is closed in any case. Fails with NO_MEMORY and IO. The
 * connection frees itself. */
enum berth_code conn_new(struct conn_host *host, int take_fd, const struct peer *peer,
                         struct berth_err *err);

/* Begins what there are threads for, and answers calls, each user's in its turn, for a tenth of a
 * millisecond or one call. */
void conn_turns(struct conn_host *host);

/* When conn_expire must be called, in the loop's ms; CONN_NEVER. */
uint64_t conn_due(const struct conn *conn);

/* Closes a connection whose time is over. */
void conn_expire(struct conn *conn);

/* Ends it now; replies that did not fit the socket are lost. It is gone later, when its work is
 * over. */
void conn_close(struct conn *conn);

struct conn *conn_next(const struct conn *conn);
struct peer *conn_peer(struct conn *conn);
int conn_fd(const struct conn *conn);
bool conn_is_closing(const struct conn *conn);
