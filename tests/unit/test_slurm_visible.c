#include "slurm_visible.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Four gpus, which the driver counts in another order than berth; the place without kfd_node is none of its. */
static json_t *node(void)
{
    json_t *made = json_loads("{\"places\": [{\"name\": \"machine0\", \"kind\": \"machine\", \"details\": {}},"
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

static void assert_inside(const char *list, const char *expected)
{
    static const char *const gpus[] = {"gpu0", "gpu3", "gpu1"}; /* the node's 3, 1 and 2 */
    char got[32] = "";
    json_t *made = node();
    assert_int_equal(slurm_visible_inside(list, made, gpus, 3, got, sizeof got), expected != NULL);
    if (expected != NULL)
        assert_string_equal(got, expected);
    json_decref(made);
}

static void numbers_become_those_of_the_step(void **state)
{
    (void)state;
    assert_inside("3", "2");
    assert_inside("1", "0");
    assert_inside("2,3,1", "1,2,0");
    assert_inside("GPU-0123456789abcdef", "GPU-0123456789abcdef");
    assert_inside("0", NULL); /* another step's */
    assert_inside("1,4", NULL);
    assert_inside("GPU-0123456789abcdef,GPU-0123456789abcdef", NULL); /* does not fit */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constrained_devices_are_noticed),
        cmocka_unit_test(numbers_become_those_of_the_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
