/**
 * What the connections of a user may hold of the daemon's memory together: see conn.h for the rule. Loop thread only.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "outbox.h"
#include "server_limits.h"

/* All connections. Zero-initialise. */
struct conn_rooms {
    struct conn_room *first;
    unsigned asking;
    unsigned working; /* calls on the thread pool */
    uint64_t last_ticket;
    uint64_t scattered_bytes; /* that waited on connections which are gone, since free memory was last given back */
};

/* Calls that are on the thread pool at once, of everybody: one of libuv's four threads is left for measuring and storing. */
#define CONN_ROOM_WORKING 3

/* One connection's part. A large call asks for room, holds it, and lets go of it. */
struct conn_room {
    struct conn_rooms *rooms;
    uid_t uid;
    const struct outbox *outbox;
    uint64_t ticket; /* its place among those that ask; 0 it does not */
    bool is_held, is_working;
    struct conn_room *prev, *next;
};

void conn_room_join(struct conn_room *room, struct conn_rooms *rooms, uid_t uid, const struct outbox *outbox);

/* The connection is gone, and what waited on it is freed. Memory that many of them left scattered goes back to the system. */
void conn_room_leave(struct conn_room *room);

/* Whether another call may be taken. */
bool conn_room_for_call(const struct conn_room *room, const struct server_limits *limits);

void conn_room_ask(struct conn_room *room);

/* Takes the room it asked for, and a thread; false when it is not its turn or there is none. Among those whose user has room for it, the call that asked first is next. */
bool conn_room_take(struct conn_room *room, const struct server_limits *limits);

/* It is off the thread pool; fine when it was not on it. */
void conn_room_worked(struct conn_room *room);

/* Neither asks nor holds any more; fine when it did not. */
void conn_room_let_go(struct conn_room *room);
