/* Everybody is woken once, whoever leaves or joins meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "varlink/hub.h"

struct sleeper {
    struct hub_listener listener; /* first, so that a listener is its sleeper */
    struct hub *hub;
    int woken;
    struct sleeper *free_these[3]; /* leave and are freed when this one is woken */
    struct sleeper *join;
    int wakes; /* how many times it wakes the hub itself */
};

static void woken(struct hub_listener *listener)
{
    struct sleeper *sleeper = (struct sleeper *)listener;
    sleeper->woken++;
    if (sleeper->join != NULL) {
        hub_listen(sleeper->hub, &sleeper->join->listener);
        sleeper->join = NULL;
    }
    if (sleeper->wakes-- > 0)
        hub_wake(sleeper->hub);
    for (size_t i = 0; i < 3; i++)
        if (sleeper->free_these[i] != NULL) {
            struct sleeper *gone = sleeper->free_these[i];
            sleeper->free_these[i] = NULL;
            hub_leave(gone->hub, &gone->listener);
            free(gone);
            if (gone == sleeper)
                return;
        }
}

static struct sleeper *sleeper_new(struct hub *hub)
{
    struct sleeper *sleeper = calloc(1, sizeof *sleeper);
    sleeper->listener.woken = woken;
    sleeper->hub = hub;
    return sleeper;
}

static void test_leave_while_woken(void **state)
{
    (void)state;
    for (int who = 0; who < 5; who++)
        for (int mask = 0; mask < 32; mask++) {
            struct hub hub = {0};
            struct sleeper *all[5];
            for (int i = 0; i < 5; i++) {
                all[i] = sleeper_new(&hub);
                hub_listen(&hub, &all[i]->listener);
            }
            int gone = 0;
            for (int i = 0; i < 5 && gone < 3; i++)
                if (mask >> i & 1) {
                    all[who]->free_these[gone++] = all[i];
                    if (i == who) /* it stops there, so it goes last */
                        break;
                }
            struct sleeper *leaves[3];
            for (int i = 0; i < 3; i++)
                leaves[i] = all[who]->free_these[i];
            hub_wake(&hub);
            for (int i = 0; i < 5; i++) {
                if (all[i] == leaves[0] || all[i] == leaves[1] || all[i] == leaves[2])
                    continue;
                assert_int_equal(all[i]->woken, 1);
                hub_leave(&hub, &all[i]->listener);
                hub_leave(&hub, &all[i]->listener);
                free(all[i]);
            }
            assert_null(hub.first);
        }
}

static void test_join_and_wake(void **state)
{
    (void)state;
    struct hub hub = {0};
    struct sleeper *a = sleeper_new(&hub), *b = sleeper_new(&hub), *late = sleeper_new(&hub);
    hub_listen(&hub, &a->listener);
    hub_listen(&hub, &b->listener);
    b->join = late;
    hub_wake(&hub);
    assert_int_equal(late->woken, 0);
    b->wakes = 1;
    hub_wake(&hub);
    /* it joined last and is called first, by the wake and by b's own */
    assert_int_equal(late->woken, 2);
    assert_int_equal(a->woken, 2);
    assert_int_equal(b->woken, 3);
    hub_leave(&hub, &late->listener);
    hub_leave(&hub, &a->listener);
    hub_leave(&hub, &b->listener);
    assert_null(hub.first);
    hub_wake(&hub);
    free(a);
    free(b);
    free(late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leave_while_woken),
        cmocka_unit_test(test_join_and_wake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
