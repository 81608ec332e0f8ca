#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/slurm_gpus.h"

static void only_a_number_counts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        long count;
    } cases[] = {{NULL, 0},
                 {"", 0},
                 {"0", 0},
                 {"4", 4},
                 {"08", 8},
                 {"all", 0},
                 {"4x", 0},
                 {"-1", 0},
                 {" 4", 0},
                 {"4,5", 0},
                 {"999999999", 999999999},
                 {"9999999999", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(lib_dealt_count(cases[i].text), cases[i].count);
}

static void fewer_than_the_nodes_are_a_tasks_own(void **state)
{
    (void)state;
    static const struct {
        const char *all, *list;
        enum lib_dealt dealt;
    } cases[] = {
        {NULL, "0-3", LIB_DEALT_UNKNOWN},    {"many", "0", LIB_DEALT_UNKNOWN},
        {"0", "0", LIB_DEALT_UNKNOWN},       {"4", "0-3", LIB_DEALT_TO_ALL},
        {"4", "0,1,2,3", LIB_DEALT_TO_ALL},  {"4", "2", LIB_DEALT_TO_EACH},
        {"4", "0,0,0,0", LIB_DEALT_TO_EACH}, {"4", "1-2", LIB_DEALT_TO_EACH},
        {"1", "3", LIB_DEALT_TO_ALL},        {"4", NULL, LIB_DEALT_TO_ALL},
        {"4", "none", LIB_DEALT_TO_ALL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(lib_dealt_of(cases[i].all, cases[i].list), cases[i].dealt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_number_counts),
        cmocka_unit_test(fewer_than_the_nodes_are_a_tasks_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
