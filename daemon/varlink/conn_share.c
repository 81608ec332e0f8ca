#include "varlink/conn_share.h"

#include <stdlib.h>

struct conn_user *conn_share_user(const struct conn_share *share, uid_t uid)
{
    struct conn_user *user = share->users;
    while (user != NULL && user->uid != uid)
        user = user->next;
    return user;
}

bool conn_share_join(struct conn_share *share, struct conn_share_seat *seat, uid_t uid)
{
    struct conn_user *user = conn_share_user(share, uid);
    if (user == NULL) {
        user = calloc(1, sizeof *user);
        if (user == NULL)
            return false;
        user->uid = uid;
        user->next = share->users;
        share->users = user;
    }
    user->connections++;
    seat->user = user;
    return true;
}

/* Removes user, which follows before (NULL: is first), from the users with a turn. */
static void end_turn(struct conn_share *share, struct conn_user *before, struct conn_user *user)
{
    if (before == NULL)
        share->turns = user->next_turn;
    else
        before->next_turn = user->next_turn;
    if (user->next_turn == NULL)
        share->last_turn = before != NULL ? &before->next_turn : NULL;
    user->next_turn = NULL;
    user->in_turn = false;
    if (user->credit_ns > 0)
        user->credit_ns = 0; /* credit is not saved */
}

static void begin_turn(struct conn_share *share, struct conn_user *user)
{
    if (share->last_turn == NULL)
        share->turns = user;
    else
        *share->last_turn = user;
    share->last_turn = &user->next_turn;
    user->in_turn = true;
}

void conn_share_ask(struct conn_share *share, struct conn_share_seat *seat)
{
    struct conn_user *user = seat->user;
    if (seat->is_ready)
        return;
    seat->is_ready = true;
    seat->next = NULL;
    if (user->first == NULL)
        user->first = seat;
    else
        *user->last = seat;
    user->last = &seat->next;
    if (!user->in_turn)
        begin_turn(share, user);
}

void conn_share_drop(struct conn_share *share, struct conn_share_seat *seat)
{
    struct conn_user *user = seat->user, *before = NULL;
    if (!seat->is_ready)
        return;
    seat->is_ready = false;
    struct conn_share_seat **at = &user->first;
    while (*at != seat)
        at = &(*at)->next;
    *at = seat->next;
    if (*at == NULL)
        user->last = at;
    if (user->first != NULL)
        return;
    if (share->turns != user)
        for (before = share->turns; before->next_turn != user;)
            before = before->next_turn;
    end_turn(share, before, user);
}

struct conn_share_seat *conn_share_next(struct conn_share *share)
{
    struct conn_user *user = share->turns;
    if (user == NULL)
        return NULL;
    /* the turn is over: each next user gets time, until one has some left */
    while (user->credit_ns <= 0) {
        if (user->next_turn != NULL) {
            share->turns = user->next_turn;
            user->next_turn = NULL;
            begin_turn(share, user);
            user = share->turns;
        }
        if (user->credit_ns <= 0)
            user->credit_ns += CONN_SHARE_NS;
    }
    struct conn_share_seat *seat = user->first;
    user->first = seat->next;
    seat->is_ready = false;
    if (user->first == NULL)
        end_turn(share, NULL, user);
    return seat;
}

void conn_share_charge(struct conn_user *user, uint64_t ns) { user->credit_ns -= (int64_t)ns; }

static uint64_t pool_left(const struct conn_user *user, uint64_t now_ns)
{
    uint64_t free_ns = (now_ns - user->pool_at_ns) / CONN_SHARE_POOL_PART;
    return user->pool_ns > free_ns ? user->pool_ns - free_ns : 0;
}

void conn_share_charge_pool(struct conn_user *user, uint64_t ns, uint64_t now_ns)
{
    user->pool_ns = pool_left(user, now_ns) + ns;
    user->pool_at_ns = now_ns;
}

bool conn_share_is_greedy(const struct conn_user *user, uint64_t now_ns)
{
    return pool_left(user, now_ns) > CONN_SHARE_POOL_NS;
}

void conn_share_leave(struct conn_share *share, struct conn_share_seat *seat, uint64_t now_ns)
{
    conn_share_drop(share, seat);
    seat->user->connections--;
    seat->user = NULL;
    for (struct conn_user **at = &share->users; *at != NULL;) {
        struct conn_user *user = *at;
        if (user->connections > 0 || pool_left(user, now_ns) > 0) {
            at = &user->next;
            continue;
        }
        *at = user->next;
        free(user);
    }
}

void conn_share_done(struct conn_share *share)
{
    for (struct conn_user *user = share->users, *next; user != NULL; user = next) {
        next = user->next;
        free(user);
    }
    *share = (struct conn_share){0};
}
