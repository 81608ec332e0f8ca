/**
 * Shares the loop's time between users: deficit round robin over what their calls took. A user's
 * turn lasts until its connections have taken CONN_SHARE_NS of the loop; what a call takes beyond
 * that is taken off its next turns. Among connections of one user it goes round. Times are in ns.
 * Loop thread only.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CONN_SHARE_NS 10000

/* A user whose calls take more than this part of a processor on the thread pool, once they have
 * taken CONN_SHARE_POOL_NS, is greedy. */
#define CONN_SHARE_POOL_PART 10
#define CONN_SHARE_POOL_NS   50000000

/* What the connections of one user have and use together. */
struct conn_user {
    uid_t uid;
    unsigned connections;
    size_t unsent_bytes; /* replies that wait for the user's peers, in memory */
    size_t input_bytes;  /* of buffers for messages that have not been called */
    const void *beyond;  /* which connection's input has room beyond the user's share; NULL none */
    unsigned large_calls;
    uint64_t served; /* which call on the thread pool, of all, was its last to begin */
    /* what its calls took on the thread pool beyond CONN_SHARE_POOL_PART since then */
    uint64_t pool_ns, pool_at_ns;
    int64_t credit_ns;
    bool in_turn;
    struct conn_share_seat *first, **last; /* ready connections, in the order they became so */
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

/* Counts a connection of that user in. False when out of memory. */
bool conn_share_join(struct conn_share *share, struct conn_share_seat *seat, uid_t uid);

/* Counts it out. Its user is forgotten when it has none any more and has worked off what it took on
 * the thread pool: connecting anew helps nobody. */
void conn_share_leave(struct conn_share *share, struct conn_share_seat *seat, uint64_t now_ns);

/* Frees what it still knows of users without a connection. */
void conn_share_done(struct conn_share *share);

/* NULL: nothing is known of that user. */
struct conn_user *conn_share_user(const struct conn_share *share, uid_t uid);

/* It wants a turn; fine when it does already. */
void conn_share_ask(struct conn_share *share, struct conn_share_seat *seat);

/* It wants none any more; fine when it did not. */
void conn_share_drop(struct conn_share *share, struct conn_share_seat *seat);

/* Whose turn it is, which is then no longer ready; NULL nobody's. */
struct conn_share_seat *conn_share_next(struct conn_share *share);

/* What the user's turn took. */
void conn_share_took(struct conn_user *user, uint64_t ns);

/* What a call of the user's took on the thread pool, which ended at now_ns. */
void conn_share_pool_took(struct conn_user *user, uint64_t ns, uint64_t now_ns);
bool conn_share_is_greedy(const struct conn_user *user, uint64_t now_ns);
