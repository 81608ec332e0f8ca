/* Which of a connection's clocks ends it, and when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "varlink/conn_clock.h"

static const struct server_limits limits = {
    .idle_ms = 1000, .half_message_ms = 100, .unread_ms = 300};

static void test_waits(void **state)
{
    (void)state;
    struct conn_clock clock = {0};
    bool look;
    assert_true(conn_clock_due(&clock, &limits) == CONN_NEVER);
    conn_clock_set(&clock, WAIT_IDLE, true, 0, 0, 5);
    assert_int_equal(conn_clock_due(&clock, &limits), 1005);
    conn_clock_set(&clock, WAIT_IDLE, false, 0, 0, 50); /* nothing happened */
    assert_int_equal(conn_clock_due(&clock, &limits), 1005);
    conn_clock_set(&clock, WAIT_IDLE, true, 0, 0, 60);
    assert_int_equal(conn_clock_due(&clock, &limits), 1060);
    assert_false(conn_clock_expired(&clock, &limits, 0, 1059, &look));
    assert_true(conn_clock_expired(&clock, &limits, 0, 1060, &look));
    conn_clock_set(&clock, WAIT_HALF, false, 0, 0, 70);
    assert_int_equal(conn_clock_due(&clock, &limits), 170);
    assert_true(conn_clock_expired(&clock, &limits, 0, 170, &look));
    assert_false(look);
    struct server_limits no_idle = limits;
    no_idle.idle_ms = 0;
    conn_clock_set(&clock, WAIT_IDLE, true, 0, 0, 200);
    assert_true(conn_clock_due(&clock, &no_idle) == CONN_NEVER);
}

static void test_looks_again_and_again(void **state)
{
    (void)state;
    struct conn_clock clock = {0};
    bool look;
    conn_clock_set(&clock, WAIT_PEER, true, 0, 0, 0);
    for (uint64_t now = conn_clock_due(&clock, &limits), turns = 0; turns < 3;
         turns++, now = conn_clock_due(&clock, &limits)) {
        assert_false(conn_clock_expired(&clock, &limits, 0, now, &look));
        assert_true(look);
        assert_true(conn_clock_due(&clock, &limits) > now);
    }
}

static void test_unread(void **state)
{
    (void)state;
    struct conn_clock clock = {0};
    bool look;
    conn_clock_set(&clock, WAIT_NONE, true, 500, 7, 0);
    assert_int_equal(conn_clock_due(&clock, &limits), 300);
    conn_clock_set(&clock, WAIT_NONE, true, 900, 7, 100); /* more waits, nothing was read */
    assert_int_equal(conn_clock_due(&clock, &limits), 300);
    assert_false(conn_clock_expired(&clock, &limits, 8, 300, &look)); /* a byte was */
    assert_int_equal(conn_clock_due(&clock, &limits), 600);
    conn_clock_set(&clock, WAIT_NONE, true, 800, 107, 500);
    assert_int_equal(conn_clock_due(&clock, &limits), 800);
    assert_true(conn_clock_expired(&clock, &limits, 107, 800, &look));
    conn_clock_set(&clock, WAIT_NONE, true, 0, 907, 810);
    assert_true(conn_clock_due(&clock, &limits) == CONN_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_waits),
                                       cmocka_unit_test(test_looks_again_and_again),
                                       cmocka_unit_test(test_unread)};
    return cmocka_run_group_tests_name("conn_clock", tests, NULL, NULL);
}
