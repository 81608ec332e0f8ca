/* Whose turn it is on the thread pool. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "varlink/conn_room.h"

#define ROOMS 8

struct fixture {
    struct conn_rooms rooms;
    struct conn_room room[ROOMS];
    struct conn_user user[ROOMS];
    struct outbox outbox;
    struct server_limits limits;
    uint64_t now_ns;
};

/* Connections of these users, all of which ask, in this order. */
static void begin(struct fixture *f, const unsigned *user, size_t count)
{
    *f = (struct fixture){.limits = {.large_calls_per_user = 2,
                                     .unsent_bytes_per_user = 1000,
                                     .unsent_bytes_in_all = 3000}};
    for (size_t i = 0; i < count; i++)
        conn_room_join(&f->room[i], &f->rooms, &f->user[user[i]], &f->outbox);
    for (size_t i = 0; i < count; i++)
        conn_room_ask(&f->room[i]);
}

/* Which connection is next; ROOMS none. */
static size_t next(struct fixture *f)
{
    struct conn_room *room = conn_room_next(&f->rooms, &f->limits, f->now_ns);
    return room != NULL ? (size_t)(room - f->room) : ROOMS;
}

static void a_thread_is_left_whoever_asks(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, (unsigned[]){1, 2, 3, 4}, 4);
    for (size_t i = 0; i < CONN_ROOM_WORKING; i++)
        assert_int_equal(next(&f), i);
    assert_int_equal(next(&f), ROOMS);
    conn_room_leave_pool(&f.room[1]);
    assert_int_equal(next(&f), 3);
    for (size_t i = 0; i < 4; i++)
        conn_room_release(&f.room[i]);
    assert_true(f.rooms.working == 0 && f.rooms.first == NULL);
}

/* However many calls others have asked for before, a user's first one waits for no more than one of
 * each of them. */
static void who_was_served_least_recently_is_next(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, (unsigned[]){1, 1, 1, 1, 2, 2, 2, 3}, 8);
    assert_int_equal(next(&f), 0);
    assert_int_equal(next(&f), 4);
    assert_int_equal(next(&f), 7);
    conn_room_release(&f.room[4]);
    assert_int_equal(next(&f), 1);
    conn_room_release(&f.room[7]);
    assert_int_equal(next(&f), 5); /* user 1 has as many as it may */
    /* a stream from the pool counts for its user, not for the pool */
    conn_room_leave_pool(&f.room[1]);
    assert_int_equal(next(&f), 6);
    conn_room_release(&f.room[6]);
    assert_int_equal(next(&f), ROOMS);
    conn_room_release(&f.room[0]);
    assert_int_equal(next(&f), 2);
    conn_room_release(&f.room[3]); /* who leaves while it asks is forgotten */
    assert_null(f.rooms.first);
}

static void a_user_holds_as_much_as_is_left(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, (unsigned[]){1, 2}, 2);
    f.user[1].unsent_bytes = f.rooms.unsent_bytes = 1001;
    assert_int_equal(next(&f), 1);
    assert_int_equal(next(&f), ROOMS);
    f.user[1].unsent_bytes = f.rooms.unsent_bytes = 1000;
    assert_int_equal(next(&f), 0);
    conn_room_release(&f.room[0]);
    conn_room_ask(&f.room[0]);
    f.rooms.unsent_bytes = 2001; /* of others, so that 999 are left */
    assert_int_equal(next(&f), ROOMS);
    f.rooms.unsent_bytes = 2000;
    assert_int_equal(next(&f), 0);
    f.rooms.unsent_bytes = 5000;
    conn_room_release(&f.room[1]);
    conn_room_ask(&f.room[1]);
    assert_int_equal(next(&f), 1); /* who holds nothing has room in any case */
}

/* A user whose calls take long has the slow thread, one call at a time, until its time is worked
 * off; others have the pool. */
static void a_greedy_user_has_the_slow_thread(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, (unsigned[]){1, 1, 1, 2}, 4);
    f.now_ns = 1000;
    conn_share_charge_pool(&f.user[1], CONN_SHARE_POOL_NS, f.now_ns);
    assert_false(conn_share_is_greedy(&f.user[1], f.now_ns));
    conn_share_charge_pool(&f.user[1], 100, f.now_ns);
    assert_int_equal(next(&f), 0);
    assert_true(f.room[0].is_slow);
    assert_int_equal(next(&f), 3);
    assert_false(f.room[3].is_slow);
    assert_int_equal(next(&f), ROOMS);
    conn_room_release(&f.room[0]);
    assert_int_equal(next(&f), 1);
    f.now_ns += UINT64_C(100) * CONN_SHARE_POOL_PART;
    assert_int_equal(next(&f), 2);
    assert_false(f.room[2].is_slow);
    for (size_t i = 0; i < 4; i++)
        conn_room_release(&f.room[i]);
    assert_true(f.rooms.working == 0 && f.rooms.slow == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_is_left_whoever_asks),
        cmocka_unit_test(who_was_served_least_recently_is_next),
        cmocka_unit_test(a_user_holds_as_much_as_is_left),
        cmocka_unit_test(a_greedy_user_has_the_slow_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
