#include "lib/task/slurm_visible.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Four gpus, which the driver counts in another order than berth; the place without kfd_node is
 * none of its. */
static json_t *node(void)
{
    json_t *made =
        json_loads("{\"places\": [{\"name\": \"machine0\", \"kind\": \"machine\", \"details\": {}},"
                   "{\"name\": \"gpu0\", \"kind\": \"gpu\", \"details\": {\"kfd_node\": \"7\"}},"
                   "{\"name\": \"gpu1\", \"kind\": \"gpu\", \"details\": {\"kfd_node\": \"6\"}},"
                   "{\"name\": \"gpu2\", \"kind\": \"gpu\", \"details\": {\"kfd_node\": \"4\"}},"
                   "{\"name\": \"gpu3\", \"kind\": \"gpu\", \"details\": {\"kfd_node\": \"5\"}}]}",
                   0, NULL);
    assert_non_null(made);
    return made;
}

static void constrained_devices_are_noticed(void **state)
{
    (void)state;
    assert_true(slurm_visible_is_inside("0,1", "4,5"));
    assert_true(slurm_visible_is_inside("0-1", "4-5"));
    assert_false(slurm_visible_is_inside("4,5", "4-5"));
    assert_false(slurm_visible_is_inside("0,1", "0,1"));
    assert_false(slurm_visible_is_inside("0", "4,5")); /* bound, not renumbered */
    assert_false(slurm_visible_is_inside("GPU-0123456789abcdef", "4"));
    assert_false(slurm_visible_is_inside(NULL, "4"));
    assert_false(slurm_visible_is_inside("0", NULL));
}

/* Asserts the node's gpus 3, 1 and 2 within a step of three, by the variables; none of them has a
 * device node here. */
static void assert_value(const char *visible, const char *numbers, const char *own,
                         const char *other, const char *expected)
{
    static const char *const gpus[] = {"gpu0", "gpu3", "gpu1"};
    const struct slurm_visible_job job = {
        .visible = visible, .numbers = numbers, .gpus = gpus, .count = 3};
    const struct berth_texts owns = {.item = &own, .count = 1},
                             others = {.item = &other, .count = 1};
    char got[4] = "";
    json_t *made = node();
    assert_int_equal(
        slurm_visible_value(made, &job, &owns, other != NULL ? &others : NULL, got, sizeof got),
        expected != NULL);
    if (expected != NULL)
        assert_string_equal(got, expected);
    json_decref(made);
}

static void numbers_are_those_that_the_runtime_counts(void **state)
{
    (void)state;
    assert_value("0,1,2", "0,1,3", "gpu0", NULL, "2");
    assert_value("0,1,2", "0,1,3", "gpu3", "gpu0", "0,2");
    assert_value("0,1,2", "0,1,3", "gpu3", "gpu3", "0");
    assert_value("0,1,2", "0,1,3", "gpu2", NULL, NULL); /* another step's */
    assert_value("0,1,3", "0,1,3", "gpu0", NULL, "3");  /* nothing is constrained */
    assert_value("0,1,3", "0,1,3", "gpu9", NULL, NULL);
    assert_value(NULL, NULL, "gpu0", NULL, NULL); /* nothing tells */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constrained_devices_are_noticed),
        cmocka_unit_test(numbers_are_those_that_the_runtime_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
