#include "lib/task/slurm_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct names {
    char text[2048];
    int count, most;
};

static bool add(void *arg, const char *name)
{
    struct names *names = arg;
    if (names->count == names->most)
        return false;
    names->count++;
    snprintf(names->text + strlen(names->text), sizeof names->text - strlen(names->text), "%s ",
             name);
    return true;
}

static void assert_names(const char *list, const char *expected)
{
    struct names names = {.most = 100};
    bool is_list = slurm_list_names(list, add, &names);
    if (expected == NULL)
        assert_false(is_list);
    else
        assert_true(is_list);
    if (expected != NULL)
        assert_string_equal(names.text, expected);
}

static void names_are_expanded_in_order(void **state)
{
    (void)state;
    assert_names("/dev/nvidia0", "/dev/nvidia0 ");
    assert_names("/dev/nvidia[0-2,7]", "/dev/nvidia0 /dev/nvidia1 /dev/nvidia2 /dev/nvidia7 ");
    assert_names("/dev/nvidia[5],/dev/nvidia2", "/dev/nvidia5 /dev/nvidia2 ");
    assert_names("node[08-11]x", "node08x node09x node10x node11x ");
    assert_names("r[1-2]n[3-4],z", "r1n3 r1n4 r2n3 r2n4 z ");
}

static void broken_names_are_refused(void **state)
{
    (void)state;
    static const char *const broken[] = {
        "",       ",",    "a,",    "a[",     "a]",   "a[]",           "a[1",
        "a[2-1]", "a[x]", "a[1-]", "a[1;2]", "a]1[", "a[0-99999999]", "a[1-9999999999]"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
        assert_names(broken[i], NULL);
    char longest[400];
    memset(longest, 'n', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_names(longest, NULL);
    memcpy(longest + 240, "[0-1]", 5);
    longest[262] = '\0';
    assert_names(longest, NULL);
    struct names few = {.most = 1};
    assert_false(slurm_list_names("a[1-2]", add, &few));
}

static void a_name_is_found_in_what_is_a_list(void **state)
{
    (void)state;
    bool has = false;
    assert_true(slurm_list_has("n[01-03],x", "n02", &has) && has);
    assert_true(slurm_list_has("n[01-03],x", "n2", &has) && !has);
    assert_false(slurm_list_has("n2,n[", "n2", &has));
    assert_false(has);
}

static void numbers_are_read_up_to_the_most(void **state)
{
    (void)state;
    int numbers[4] = {0};
    assert_int_equal(slurm_list_numbers("7,0-2", 4, numbers), 4);
    assert_int_equal(numbers[0], 7);
    assert_int_equal(numbers[3], 2);
    assert_int_equal(slurm_list_numbers("0-4", 4, numbers), -1);
    assert_int_equal(slurm_list_numbers("0-3,9", 4, numbers), -1);
    static const char *const broken[] = {"", "x", "1,", "1-", "3-1", "-1", "1 2", "0-99999999999"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
        assert_int_equal(slurm_list_numbers(broken[i], 4, numbers), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_expanded_in_order),
        cmocka_unit_test(broken_names_are_refused),
        cmocka_unit_test(a_name_is_found_in_what_is_a_list),
        cmocka_unit_test(numbers_are_read_up_to_the_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
