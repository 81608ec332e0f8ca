/* Sets of cpus as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/cpuset.h"

/* processor time for a message full of ranges: the loop serves nobody meanwhile */
#define LOAD_S 0.25

static void test_ranges(void **state)
{
    (void)state;
    static const unsigned edges[] = {0, 1, 62, 63, 64, 65, 127, 128, 4031, 4032, 4094, 4095};
    size_t count = sizeof edges / sizeof *edges;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i; j < count; j++) {
            char text[24], list[24];
            struct cpuset set, wanted = {0};
            snprintf(text, sizeof text, edges[i] == edges[j] ? "%u" : "%u-%u", edges[i], edges[j]);
            for (unsigned cpu = edges[i]; cpu <= edges[j]; cpu++)
                cpuset_add(&wanted, cpu);
            assert_int_equal(cpuset_parse(text, &set, NULL), BERTH_OK);
            assert_true(cpuset_equal(&set, &wanted));
            cpuset_format_list(&set, list, sizeof list);
            assert_string_equal(list, text);
        }
}

static void test_wrong_text(void **state)
{
    (void)state;
    static const char *const wrong[] = {"4096",
                                        "0-4096",
                                        "3-1",
                                        "1,",
                                        ",1",
                                        "1--2",
                                        "-1",
                                        "1-",
                                        "1 2",
                                        "0x1",
                                        "99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct cpuset set = {.word = {5}};
        struct berth_err err = {0};
        assert_int_equal(cpuset_parse(wrong[i], &set, &err), BERTH_BAD_DATA);
        assert_int_equal(set.word[0], 5);
    }
}

static void test_many_ranges(void **state)
{
    (void)state;
    size_t count = 140000;
    char *text = malloc(count * 7 + 1), *end = text;
    for (size_t i = 0; i < count; i++)
        end += sprintf(end, "%s0-4095", i > 0 ? "," : "");
    struct cpuset set;
    clock_t begin = clock();
    assert_int_equal(cpuset_parse(text, &set, NULL), BERTH_OK);
    double took_s = (double)(clock() - begin) / CLOCKS_PER_SEC;
    assert_int_equal(cpuset_count(&set), CPUSET_MAX);
    if (took_s > LOAD_S)
        fail_msg("%.3f s", took_s);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_wrong_text),
        cmocka_unit_test(test_many_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
