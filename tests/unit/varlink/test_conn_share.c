/* Turns of users on the loop, and the number of items of a message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "varlink/conn_share.h"
#include "varlink/message.h"

#define SEATS 600

struct fixture {
    struct conn_share share;
    struct conn_share_seat seat[SEATS];
};

static void begin(struct fixture *f, const uid_t *uid, size_t count)
{
    *f = (struct fixture){0};
    for (size_t i = 0; i < count; i++)
        assert_true(conn_share_join(&f->share, &f->seat[i], uid[i]));
}

static size_t next(struct fixture *f)
{
    struct conn_share_seat *seat = conn_share_next(&f->share);
    return seat != NULL ? (size_t)(seat - f->seat) : SEATS;
}

static void end(struct fixture *f, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (f->seat[i].user != NULL)
            conn_share_leave(&f->share, &f->seat[i], 0);
    assert_null(f->share.users);
    assert_null(conn_share_next(&f->share));
}

/* However many connections one has, and whatever they ask, another one's call waits for one turn of
 * that user. */
static void a_newcomer_waits_for_one_turn(void **state)
{
    (void)state;
    static struct fixture f;
    uid_t uid[SEATS] = {0};
    uid[SEATS - 1] = 7;
    begin(&f, uid, SEATS);
    for (size_t i = 0; i < SEATS - 1; i++)
        conn_share_ask(&f.share, &f.seat[i]);
    for (int round = 0; round < 100; round++) {
        conn_share_ask(&f.share, &f.seat[SEATS - 1]);
        uint64_t waited = 0;
        for (size_t i; (i = next(&f)) != SEATS - 1; waited += 4000) {
            assert_in_range(i, 0, SEATS - 2);
            conn_share_charge(f.seat[i].user, 4000);
            conn_share_ask(&f.share, &f.seat[i]);
        }
        assert_true(waited <= CONN_SHARE_NS + 4000);
        conn_share_charge(f.seat[SEATS - 1].user, 4000);
    }
    end(&f, SEATS);
}

/* Two that always want turns get the same time, whatever one of their calls takes; of one user's
 * connections each is next in its turn. */
static void time_is_shared_not_calls(void **state)
{
    (void)state;
    static struct fixture f;
    begin(&f, (uid_t[]){1, 1, 1, 2}, 4);
    uint64_t took[3] = {0};
    unsigned calls[4] = {0};
    for (size_t i = 0; i < 4; i++)
        conn_share_ask(&f.share, &f.seat[i]);
    for (int n = 0; n < 30000; n++) {
        size_t i = next(&f);
        uint64_t ns = i == 3 ? 700000 : 3000;
        assert_in_range(i, 0, 3);
        calls[i]++;
        took[f.seat[i].user->uid] += ns;
        conn_share_charge(f.seat[i].user, ns);
        conn_share_ask(&f.share, &f.seat[i]);
    }
    assert_in_range(took[1], took[2] * 9 / 10, took[2] * 11 / 10);
    assert_in_range(calls[0], calls[1] - 1, calls[1] + 1);
    assert_in_range(calls[2], calls[1] - 1, calls[1] + 1);
    end(&f, 4);
}

static void who_leaves_has_no_turn(void **state)
{
    (void)state;
    static struct fixture f;
    begin(&f, (uid_t[]){1, 2, 3, 1, 2, 3}, 6);
    for (size_t left = 0; left < 64; left++) {
        for (size_t i = 0; i < 6; i++) {
            conn_share_ask(&f.share, &f.seat[i]);
            conn_share_ask(&f.share, &f.seat[i]);
        }
        size_t came = 0, dropped = 0;
        for (size_t i = 0; i < 6; i++)
            if ((left >> i & 1) != 0) {
                conn_share_drop(&f.share, &f.seat[i]);
                conn_share_drop(&f.share, &f.seat[i]);
                dropped++;
            }
        for (size_t i; (i = next(&f)) != SEATS; came++)
            assert_true((left >> i & 1) == 0);
        assert_int_equal(came + dropped, 6);
    }
    end(&f, 6);
}

/* A user's time on the thread pool is kept over its connections, for as long as it counts. */
static void connecting_anew_helps_nobody(void **state)
{
    (void)state;
    static struct fixture f;
    begin(&f, (uid_t[]){1, 2}, 2);
    uint64_t now_ns = 1000;
    conn_share_charge_pool(f.seat[0].user, 2 * CONN_SHARE_POOL_NS, now_ns);
    conn_share_leave(&f.share, &f.seat[0], now_ns);
    assert_true(conn_share_join(&f.share, &f.seat[0], 1));
    assert_true(conn_share_is_greedy(f.seat[0].user, now_ns));
    assert_false(conn_share_is_greedy(f.seat[1].user, now_ns));
    now_ns += UINT64_C(1) * CONN_SHARE_POOL_NS * CONN_SHARE_POOL_PART;
    assert_false(conn_share_is_greedy(f.seat[0].user, now_ns));
    now_ns += UINT64_C(1) * CONN_SHARE_POOL_NS * CONN_SHARE_POOL_PART;
    conn_share_leave(&f.share, &f.seat[0], now_ns);
    assert_null(conn_share_user(&f.share, 1));
    assert_non_null(conn_share_user(&f.share, 2));
    end(&f, 2);
    begin(&f, (uid_t[]){1}, 1);
    conn_share_charge_pool(f.seat[0].user, 2 * CONN_SHARE_POOL_NS, 1);
    conn_share_leave(&f.share, &f.seat[0], 1);
    conn_share_done(&f.share);
    assert_null(f.share.users);
}

static void items_are_counted(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t items;
    } of[] = {{"", 0},
              {"{}", 4},
              {"[1,2,3]", 6},
              {"{\"a\":[{},{}]}", 17},
              {"\",,[[\"", 0},
              {"[\"\\\",[\",1]", 5},
              {"[\"\\\\\",1]", 5},
              {"\"", 0},
              {"\"\\", 0},
              {"\"\\\"", 0},
              {",[{\"", 9}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        assert_int_equal(message_items(of[i].text, strlen(of[i].text)), of[i].items);
    assert_int_equal(message_items("[,,,,", 3), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_newcomer_waits_for_one_turn),
        cmocka_unit_test(time_is_shared_not_calls),
        cmocka_unit_test(who_leaves_has_no_turn),
        cmocka_unit_test(connecting_anew_helps_nobody),
        cmocka_unit_test(items_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
