/**
 * Shares the loop's time between users: deficit round robin over the time of their calls. A user's
 * turn lasts until its connections have used CONN_SHARE_NS of the loop. Time of a call beyond that
 * is deducted from the user's next turns. The connections of one user take turns as well. Times are
 * in ns. Loop thread only.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CONN_SHARE_NS 10000

/* A user is greedy when its calls use more than this part of a processor on the thread pool, once
 * they have used CONN_SHARE_POOL_NS. */
#define CONN_SHARE_POOL_PART 10
#define CONN_SHARE_POOL_NS   50000000

/* State and use of all connections of one user. */
struct conn_user {
    uid_t uid;
    unsigned connections;
    size_t unsent_bytes; /* replies that wait for the user's peers, in memory */
    size_t input_bytes;  /* buffers for messages that have not been called */
    const void *beyond;  /* connection whose input has room beyond the user's limit; NULL none */
    unsigned large_calls;
    uint64_t served; /* number of its last call to begin on the thread pool, among all */
    /* time of its calls on the thread pool beyond CONN_SHARE_POOL_PART, at pool_at_ns */
    uint64_t pool_ns, pool_at_ns;
    int64_t credit_ns;
    bool in_turn;
    struct conn_share_seat *first, **last; /* ready connections, in the order of asking */
    struct conn_user *next, *next_turn;
};

/* One connection's part; zero-initialise. */
struct conn_share_seat {
    struct conn_user *user;
    bool is_ready;
    struct conn_share_seat *next;
};

/* All users with a connection. Zero-initialise. */
struct conn_share {
    struct conn_user *users;
    /* users with ready connections; last_turn NULL while there are none */
    struct conn_user *turns, **last_turn;
};

/* Adds a connection of that user. False when out of memory. */
bool conn_share_join(struct conn_share *share, struct conn_share_seat *seat, uid_t uid);

/* Removes the connection. Its user is freed when it has no connection and its time on the thread
 * pool is worked off: connecting anew helps nobody. */
void conn_share_leave(struct conn_share *share, struct conn_share_seat *seat, uint64_t now_ns);

/* Frees the remaining users without a connection. */
void conn_share_done(struct conn_share *share);

/* NULL: no such user. */
struct conn_user *conn_share_user(const struct conn_share *share, uid_t uid);

/* Asks for a turn; fine while it is asking. */
void conn_share_ask(struct conn_share *share, struct conn_share_seat *seat);

/* Stops asking; fine while it does not. */
void conn_share_drop(struct conn_share *share, struct conn_share_seat *seat);

/* Returns the next connection, which is then no longer ready; NULL none. */
struct conn_share_seat *conn_share_next(struct conn_share *share);

/* Adds the time of the user's turn. */
void conn_share_charge(struct conn_user *user, uint64_t ns);

/* Adds the time of one of the user's calls on the thread pool, which ended at now_ns. */
void conn_share_charge_pool(struct conn_user *user, uint64_t ns, uint64_t now_ns);
bool conn_share_is_greedy(const struct conn_user *user, uint64_t now_ns);
