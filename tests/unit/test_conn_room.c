/* Whose turn it is on the thread pool. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "conn_room.h"

#define ROOMS 8

struct fixture {
    struct conn_rooms rooms;
    struct conn_room room[ROOMS];
    struct outbox outbox;
    struct server_limits limits;
};

/* Connections of these users, all of which ask, in this order. */
static void begin(struct fixture *f, const uid_t *uid, size_t count)
{
    *f = (struct fixture){.limits = {.large_calls_per_user = 2, .unsent_bytes_per_user = 1000}};
    for (size_t i = 0; i < count; i++)
        conn_room_join(&f->room[i], &f->rooms, uid[i], &f->outbox);
    for (size_t i = 0; i < count; i++)
        conn_room_ask(&f->room[i]);
}

static bool take(struct fixture *f, size_t i) { return conn_room_take(&f->room[i], &f->limits); }

static void a_thread_is_left_whoever_asks(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, (uid_t[]){1, 2, 3, 4}, 4);
    for (size_t i = 0; i < CONN_ROOM_WORKING; i++)
        assert_true(take(&f, i));
    assert_false(take(&f, 3));
    conn_room_worked(&f.room[1]);
    assert_true(take(&f, 3));
    for (size_t i = 0; i < 4; i++)
        conn_room_let_go(&f.room[i]);
    assert_true(f.rooms.working == 0 && f.rooms.asking == 0);
}

static void who_asked_first_is_next_unless_its_user_has_no_room(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, (uid_t[]){1, 1, 1, 1, 2, 3}, 6);
    assert_false(take(&f, 1)); /* its user's first call goes before it */
    assert_false(take(&f, 4)); /* and before other users' */
    assert_true(take(&f, 0) && take(&f, 1));
    assert_false(take(&f, 2)); /* two of user 1 */
    assert_false(take(&f, 5)); /* user 2 asked before */
    assert_true(take(&f, 4));
    assert_false(take(&f, 5));
    conn_room_let_go(&f.room[0]);
    assert_false(take(&f, 5)); /* user 1 has room again, and asked before */
    assert_true(take(&f, 2));
    conn_room_worked(&f.room[2]); /* a stream of what was made counts for its user, not for the pool */
    assert_false(take(&f, 3));
    assert_true(take(&f, 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_thread_is_left_whoever_asks), cmocka_unit_test(who_asked_first_is_next_unless_its_user_has_no_room)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
