/**
 * Memory for replies and thread-pool slots of the connections of each user; varlink/conn.h has the
 * rule. Loop thread only.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "varlink/conn_share.h"
#include "varlink/outbox.h"
#include "varlink/server_limits.h"

/* Calls on the thread pool at once, of all users: one of libuv's four threads is left for measuring
 * and storing. */
#define CONN_ROOM_WORKING 3

/* Calls on the slow thread at once, for greedy users. */
#define CONN_ROOM_SLOW 1

/* All connections. Zero-initialise. */
struct conn_rooms {
    /* connections that ask, in the order of asking; last NULL while there are none */
    struct conn_room *first, **last;
    unsigned working, slow; /* calls on the thread pool, and on the slow thread */
    uint64_t served;        /* number of calls begun so far */
    size_t unsent_bytes;    /* replies that wait for peers, of all users */
    /* unsent bytes of freed connections, since the last malloc_trim */
    uint64_t scattered_bytes;
};

/* One connection's part. A large call asks for room, holds it, and releases it. */
struct conn_room {
    struct conn_rooms *rooms;
    struct conn_user *user;
    const struct outbox *outbox;
    bool is_asking, is_held, is_working;
    bool is_slow; /* uses, or used, the slow thread */
    struct conn_room *next;
};

void conn_room_join(struct conn_room *room, struct conn_rooms *rooms, struct conn_user *user,
                    const struct outbox *outbox);

/* Removes a connection that is gone; its unsent replies and its buffered bytes of input are freed.
 * Returns scattered memory to the system when enough of it has accumulated. */
void conn_room_leave(struct conn_room *room, size_t buffered, bool is_last);

/* True when another call may begin. */
bool conn_room_for_call(const struct conn_room *room, const struct server_limits *limits);

void conn_room_ask(struct conn_room *room);

/* Grants room and a thread at now_ns. The next connection is the first to ask of those whose user
 * has room and was served least recently. NULL when there is none. */
struct conn_room *conn_room_next(struct conn_rooms *rooms, const struct server_limits *limits,
                                 uint64_t now_ns);

/* Ends the use of the thread pool; fine without any. */
void conn_room_leave_pool(struct conn_room *room);

/* Ends asking and holding; fine without either. */
void conn_room_release(struct conn_room *room);
