/**
 * What the connections of a user may hold of the daemon's memory and of its thread pool together:
 * see varlink/conn.h for the rule. Loop thread only.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "varlink/conn_share.h"
#include "varlink/outbox.h"
#include "varlink/server_limits.h"

/* Calls that are on the thread pool at once, of everybody: one of libuv's four threads is left for
 * measuring and storing. */
#define CONN_ROOM_WORKING 3

/* And on the slow thread, where greedy users' calls run. */
#define CONN_ROOM_SLOW 1

/* All connections. Zero-initialise. */
struct conn_rooms {
    /* those that ask, in the order they began to; last NULL while there are none */
    struct conn_room *first, **last;
    unsigned working, slow; /* calls on the thread pool, and on the slow thread */
    uint64_t served;        /* that ever began there */
    size_t unsent_bytes;    /* replies that wait for peers, of everybody */
    /* that waited on connections which are gone, since free memory was last given back */
    uint64_t scattered_bytes;
};

/* One connection's part. A large call asks for room, holds it, and lets go of it. */
struct conn_room {
    struct conn_rooms *rooms;
    struct conn_user *user;
    const struct outbox *outbox;
    bool is_asking, is_held, is_working;
    bool is_slow; /* it has, or had, the slow thread */
    struct conn_room *next;
};

void conn_room_join(struct conn_room *room, struct conn_rooms *rooms, struct conn_user *user,
                    const struct outbox *outbox);

/* The connection is gone, and what waited on it is freed, as are buffered bytes of what came in.
 * Memory that many of them left scattered goes back to the system. */
void conn_room_leave(struct conn_room *room, size_t buffered, bool is_last);

/* Whether another call may be taken. */
bool conn_room_for_call(const struct conn_room *room, const struct server_limits *limits);

void conn_room_ask(struct conn_room *room);

/* Gives the room that was asked for, and a thread, at now_ns, to the connection that is next: the
 * first to ask of those whose user has room and was served least recently. NULL when there is none.
 */
struct conn_room *conn_room_next(struct conn_rooms *rooms, const struct server_limits *limits,
                                 uint64_t now_ns);

/* It is off the thread pool; fine when it was not on it. */
void conn_room_worked(struct conn_room *room);

/* Neither asks nor holds any more; fine when it did not. */
void conn_room_let_go(struct conn_room *room);
