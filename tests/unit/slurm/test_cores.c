#include "slurm/cores.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Two packages of two cores with two hardware threads each, and the kernel numbers them as it does:
 * first threads first, packages in turn. The places come in no order of the machine's structure. */
static const char node_text[] =
    "{\"places\": ["
    "{\"name\": \"machine0\", \"kind\": \"machine\", \"cpus\": \"0-7\"},"
    "{\"name\": \"package0\", \"kind\": \"package\", \"parent\": \"machine0\", \"cpus\": "
    "\"0,2,4,6\"},"
    "{\"name\": \"package1\", \"kind\": \"package\", \"parent\": \"machine0\", \"cpus\": "
    "\"1,3,5,7\"},"
    "{\"name\": \"core0\", \"kind\": \"core\", \"parent\": \"package0\", \"cpus\": \"0,4\"},"
    "{\"name\": \"core1\", \"kind\": \"core\", \"parent\": \"package1\", \"cpus\": \"1,5\"},"
    "{\"name\": \"core2\", \"kind\": \"core\", \"parent\": \"package0\", \"cpus\": \"2,6\"},"
    "{\"name\": \"core3\", \"kind\": \"core\", \"parent\": \"package1\", \"cpus\": \"3,7\"},"
    "{\"name\": \"pu3\", \"kind\": \"pu\", \"parent\": \"core3\", \"cpus\": \"3\"},"
    "{\"name\": \"pu7\", \"kind\": \"pu\", \"parent\": \"core3\", \"cpus\": \"7\"}]}";

static void assert_cpus(const char *numbers, const char *expected)
{
    char got[64] = "as it was";
    json_t *node = json_loads(node_text, 0, NULL);
    assert_non_null(node);
    bool fine = slurm_cores_cpus(node, numbers, got, sizeof got);
    assert_int_equal(fine, expected != NULL);
    if (expected != NULL)
        assert_string_equal(got, expected);
    json_decref(node);
}

static void numbers_go_core_by_core(void **state)
{
    (void)state;
    assert_cpus("0-3", "0,4,2,6,1,5,3,7");
    assert_cpus("0-1", "0,4,2,6");
    assert_cpus("2", "1,5");
    assert_cpus("1,3", "2,6,3,7");
}

static void what_is_not_there_is_refused(void **state)
{
    (void)state;
    assert_cpus("4", NULL);
    assert_cpus("0-4", NULL);
    assert_cpus("", NULL);
    assert_cpus("0,x", NULL);
    assert_cpus("-1", NULL);
}

static void a_text_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    char room[8];
    json_t *node = json_loads(node_text, 0, NULL), *empty = json_object();
    assert_true(slurm_cores_cpus(node, "0-1", room, sizeof room)); /* "0,4,2,6" and its NUL */
    assert_string_equal(room, "0,4,2,6");
    assert_false(slurm_cores_cpus(node, "0-1", room, sizeof room - 1));
    assert_false(slurm_cores_cpus(node, "0-2", room, sizeof room));
    assert_false(slurm_cores_cpus(empty, "0", room, sizeof room));
    json_decref(node);
    json_decref(empty);
}

static void assert_places(const char *cpus, const char *expected)
{
    json_t *node = json_loads(node_text, 0, NULL), *places = slurm_cores_places(node, cpus);
    char *got = places != NULL ? json_dumps(places, JSON_COMPACT) : NULL;
    if (expected == NULL)
        assert_null(got);
    else
        assert_string_equal(got, expected);
    free(got);
    json_decref(places);
    json_decref(node);
}

static void whole_cores_are_named_as_such(void **state)
{
    (void)state;
    assert_places("0,4,2,6", "[\"core0\",\"core2\"]");
    assert_places("4,0,7", "[\"core0\",\"pu7\"]");
    assert_places("0", "[]"); /* the node names no places inside core0 */
    assert_places("99", "[]");
    assert_places("x", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_go_core_by_core),
        cmocka_unit_test(what_is_not_there_is_refused),
        cmocka_unit_test(a_text_that_does_not_fit_is_refused),
        cmocka_unit_test(whole_cores_are_named_as_such),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
