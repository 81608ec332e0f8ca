/* The database or its log is truncated at each access to the disk, once and twice. */
#include "unit/store/cut_life.h"

static const char *const suffixes[] = {"", "-wal"};

/* At every place, or at one in stride. */
static void cut_once(void **state)
{
    struct world *world = *state;
    for (enum beginning beginning = 0; beginning < A_LONG_LOG; beginning++) {
        prepare(world, beginning, 0);
        for (size_t i = 0; i < 8; i++) {
            struct cut cut = {(long)i, suffixes[i % 2], sizes[i / 2]};
            for (long last = LONG_MAX; cut.at <= last; cut.at += stride(29)) {
                begin(world);
                last = life(world, cut, (struct cut){0, "", 0});
                assert_true(last > 100 && last < 2000);
            }
        }
    }
    assert_none_lost();
}

/* Anything at any two places. */
static void cut_twice(void **state)
{
    struct world *world = *state;
    unsigned chance = 1;
    prepare(world, A_FILE, 0);
    for (int i = is_long() ? 10000 : 100; i > 0; i--) {
        struct cut cut[2];
        for (size_t j = 0; j < 2; j++)
            cut[j] = (struct cut){1 + rand_r(&chance) / 7 % 600, suffixes[rand_r(&chance) / 7 % 2],
                                  sizes[rand_r(&chance) / 7 % 4]};
        begin(world);
        life(world, cut[0], cut[1]);
    }
    assert_none_lost();
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(cut_once), TEST(cut_twice)};
    return cmocka_run_group_tests(tests, count_accesses, NULL);
}
