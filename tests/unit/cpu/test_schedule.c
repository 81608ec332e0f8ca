#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/schedule.h"

/* Each pair meets in one round, and nobody is in two pairs of a round: then all pairs fit in the
 * least number of rounds. */
static void tournament(void **state)
{
    (void)state;
    for (int n = 2; n <= 70; n++) {
        int rounds = cpu_schedule_rounds(n), met = 0;
        assert_int_equal(rounds, n % 2 == 0 ? n - 1 : n);
        unsigned char *playing = calloc((size_t)rounds, (size_t)n);
        for (int a = 0; a < n; a++)
            for (int b = 0; b < n; b++) {
                if (a == b)
                    continue;
                int round = cpu_schedule_round(n, a, b);
                assert_in_range(round, 0, rounds - 1);
                assert_int_equal(round, cpu_schedule_round(n, b, a));
                /* once as the lower, once as the higher */
                assert_int_equal(playing[round * n + a] & (a < b ? 1 : 2), 0);
                playing[round * n + a] |= a < b ? 1 : 2;
                met++;
            }
        assert_int_equal(met, n * (n - 1));
        for (int round = 0; round < rounds; round++) {
            int players = 0;
            for (int a = 0; a < n; a++) {
                assert_int_not_equal(playing[round * n + a], 3); /* in one pair of the round */
                players += playing[round * n + a] != 0;
            }
            assert_int_equal(players, n / 2 * 2);
        }
        free(playing);
    }
    assert_int_equal(cpu_schedule_rounds(1), 0);
}

/* All ordered pairs in the order of the tournament go in as few batches as there are rounds, twice.
 */
static void batches_of_a_tournament(void **state)
{
    (void)state;
    for (int n = 2; n <= 33; n++) {
        struct cpu_schedule_pair *pairs = calloc((size_t)n * (size_t)n, sizeof *pairs);
        size_t *picked = calloc((size_t)n * (size_t)n, sizeof *picked), count = 0, done = 0;
        bool *busy = calloc((size_t)n, sizeof *busy);
        for (int round = 0; round < cpu_schedule_rounds(n); round++)
            for (int direction = 0; direction < 2; direction++)
                for (int a = 0; a < n; a++)
                    for (int b = a + 1; b < n; b++)
                        if (cpu_schedule_round(n, a, b) == round)
                            pairs[count++] = (struct cpu_schedule_pair){direction ? b : a,
                                                                        direction ? a : b, false};
        assert_int_equal(count, n * (n - 1));
        int batches = 0;
        for (size_t found; done < count; done += found, batches++) {
            found = cpu_schedule_pick(pairs, count, count, busy, picked);
            assert_int_equal(found, n / 2);
            unsigned char *seen = calloc((size_t)n, 1);
            for (size_t i = 0; i < found; i++) {
                assert_int_equal(seen[pairs[picked[i]].a]++, 0);
                assert_int_equal(seen[pairs[picked[i]].b]++, 0);
            }
            free(seen);
        }
        assert_int_equal(batches, 2 * cpu_schedule_rounds(n));
        assert_int_equal(cpu_schedule_pick(pairs, count, count, busy, picked), 0);
        free(pairs);
        free(picked);
        free(busy);
    }
}

/* In order, at most as many as asked for, and a core beside itself. */
static void picks(void **state)
{
    (void)state;
    struct cpu_schedule_pair pairs[] = {
        {0, 1, false}, {1, 0, false}, {2, 2, false}, {2, 3, false}, {3, 4, false}};
    bool busy[5] = {0};
    size_t picked[5];
    assert_int_equal(cpu_schedule_pick(pairs, 5, 2, busy, picked), 2);
    assert_true(picked[0] == 0 && picked[1] == 2);
    assert_int_equal(cpu_schedule_pick(pairs, 5, 5, busy, picked), 2);
    assert_true(picked[0] == 1 && picked[1] == 3);
    assert_int_equal(cpu_schedule_pick(pairs, 5, 5, busy, picked), 1);
    assert_int_equal(picked[0], 4);
    for (int i = 0; i < 5; i++)
        assert_false(busy[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tournament),
                                       cmocka_unit_test(batches_of_a_tournament),
                                       cmocka_unit_test(picks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
