/* Plans that stand under a key without a claim: whose, for how long, how many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "serve/plan_cache.h"

#define S UINT64_C(1000000000)

static void the_same_question_has_one_answer(void **state)
{
    (void)state;
    struct plan_cache held = {0};
    assert_null(plan_cache_find(&held, 1, "k", "q", 0));
    assert_true(plan_cache_keep(&held, 1, "k", "q", "a", 0));
    assert_string_equal(plan_cache_find(&held, 1, "k", "q", 1), "a");
    assert_null(plan_cache_find(&held, 2, "k", "q", 1)); /* another user's key is another key */
    assert_null(plan_cache_find(&held, 1, "l", "q", 1));
    assert_null(
        plan_cache_find(&held, 1, "k", "p", 1)); /* another question is planned for itself */
    assert_true(plan_cache_keep(&held, 1, "k", "p", "b", 2));
    assert_string_equal(plan_cache_find(&held, 1, "k", "p", 3), "b");
    assert_string_equal(plan_cache_find(&held, 1, "k", "q", 3), "a");
    plan_cache_done(&held);
    assert_int_equal(held.count, 0);
}

static void asking_keeps_it(void **state)
{
    (void)state;
    struct plan_cache held = {0};
    assert_true(plan_cache_keep(&held, 1, "k", "q", "a", 0));
    assert_true(plan_cache_keep(&held, 1, "l", "q", "b", 0));
    for (uint64_t now = 500; now <= 5000; now += 500)
        assert_non_null(plan_cache_find(&held, 1, "k", "q", now * S));
    assert_int_equal(held.count, 1); /* nobody asked for the other one */
    assert_non_null(plan_cache_find(&held, 1, "k", "q", (5000 + PLAN_CACHE_S) * S));
    assert_null(plan_cache_find(&held, 1, "k", "q", (5001 + 2 * PLAN_CACHE_S) * S));
    assert_int_equal(held.count, 0);
    plan_cache_done(&held);
}

static void there_is_room_for_so_many(void **state)
{
    (void)state;
    struct plan_cache held = {0};
    char key[16];
    assert_true(plan_cache_keep(&held, 7, "other", "q", "x", 0));
    for (unsigned n = 0; n < 3 * PLAN_CACHE_PER_USER; n++) {
        snprintf(key, sizeof key, "%u", n);
        assert_true(plan_cache_keep(&held, 1, key, "q", key, n));
        /* plans in use stay */
        assert_string_equal(plan_cache_find(&held, 1, "0", "q", n) != NULL ? "0" : "none", "0");
    }
    assert_int_equal(held.count, PLAN_CACHE_PER_USER + 1);
    assert_non_null(plan_cache_find(&held, 1, key, "q", 1000)); /* the last one */
    assert_null(plan_cache_find(&held, 1, "1", "q", 1000));
    assert_non_null(plan_cache_find(&held, 7, "other", "q", 1000));
    for (unsigned n = 0; n < 2 * PLAN_CACHE_MAX; n++) {
        assert_true(plan_cache_keep(&held, 100 + n, "k", "q", "a", 2000 + n));
        assert_true(held.count <= PLAN_CACHE_MAX);
    }
    assert_int_equal(held.count, PLAN_CACHE_MAX);
    plan_cache_done(&held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_question_has_one_answer),
        cmocka_unit_test(asking_keeps_it),
        cmocka_unit_test(there_is_room_for_so_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
