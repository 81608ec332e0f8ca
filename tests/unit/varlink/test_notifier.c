/* Everybody is woken once, whoever leaves or joins meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "varlink/notifier.h"

struct sleeper {
    struct notifier_listener listener; /* first, so that a listener is its sleeper */
    struct notifier *notifier;
    int woken;
    struct sleeper *free_these[3]; /* leave and are freed when this one is woken */
    struct sleeper *join;
    int wakes; /* number of its own wakes of the notifier */
};

static void woken(struct notifier_listener *listener)
{
    struct sleeper *sleeper = (struct sleeper *)listener;
    sleeper->woken++;
    if (sleeper->join != NULL) {
        notifier_listen(sleeper->notifier, &sleeper->join->listener);
        sleeper->join = NULL;
    }
    if (sleeper->wakes-- > 0)
        notifier_wake(sleeper->notifier);
    for (size_t i = 0; i < 3; i++)
        if (sleeper->free_these[i] != NULL) {
            struct sleeper *gone = sleeper->free_these[i];
            sleeper->free_these[i] = NULL;
            notifier_leave(gone->notifier, &gone->listener);
            free(gone);
            if (gone == sleeper)
                return;
        }
}

static struct sleeper *sleeper_new(struct notifier *notifier)
{
    struct sleeper *sleeper = calloc(1, sizeof *sleeper);
    sleeper->listener.woken = woken;
    sleeper->notifier = notifier;
    return sleeper;
}

static void test_leave_while_woken(void **state)
{
    (void)state;
    for (int who = 0; who < 5; who++)
        for (int mask = 0; mask < 32; mask++) {
            struct notifier notifier = {0};
            struct sleeper *all[5];
            for (int i = 0; i < 5; i++) {
                all[i] = sleeper_new(&notifier);
                notifier_listen(&notifier, &all[i]->listener);
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
            notifier_wake(&notifier);
            for (int i = 0; i < 5; i++) {
                if (all[i] == leaves[0] || all[i] == leaves[1] || all[i] == leaves[2])
                    continue;
                assert_int_equal(all[i]->woken, 1);
                notifier_leave(&notifier, &all[i]->listener);
                notifier_leave(&notifier, &all[i]->listener);
                free(all[i]);
            }
            assert_null(notifier.first);
        }
}

static void test_join_and_wake(void **state)
{
    (void)state;
    struct notifier notifier = {0};
    struct sleeper *a = sleeper_new(&notifier), *b = sleeper_new(&notifier),
                   *late = sleeper_new(&notifier);
    notifier_listen(&notifier, &a->listener);
    notifier_listen(&notifier, &b->listener);
    b->join = late;
    notifier_wake(&notifier);
    assert_int_equal(late->woken, 0);
    b->wakes = 1;
    notifier_wake(&notifier);
    /* it joined last and is called first, by the wake and by b's own */
    assert_int_equal(late->woken, 2);
    assert_int_equal(a->woken, 2);
    assert_int_equal(b->woken, 3);
    notifier_leave(&notifier, &late->listener);
    notifier_leave(&notifier, &a->listener);
    notifier_leave(&notifier, &b->listener);
    assert_null(notifier.first);
    notifier_wake(&notifier);
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
