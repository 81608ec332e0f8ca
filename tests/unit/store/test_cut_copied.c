/* The database is truncated while the log is copied into it. */
#include "unit/store/cut_life.h"

/* The database while the log is copied into it, which makes it as long again: at the end of the
 * call that stores a claim. */
static void cut_while_it_is_copied(void **state)
{
    struct world *world = *state;
    int frames = 1000;
    do {
        prepare(world, A_LONG_LOG, frames--);
        begin(world);
        life(world, (struct cut){0, "", 0}, (struct cut){0, "", 0});
        assert_true(steps.first_copy > 0);
    } while (steps.first_copy <= steps.stored_one);
    long first = steps.first_copy, last = steps.last_copy;
    assert_true(last > first + 20);
    for (size_t i = 0; i < 4; i++)
        for (long at = first - 40; at < last + 40; at += stride(3)) {
            begin(world);
            life(world, (struct cut){at, "", sizes[i]}, (struct cut){0, "", 0});
        }
    assert_none_lost();
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(cut_while_it_is_copied)};
    return cmocka_run_group_tests(tests, count_accesses, NULL);
}
