/* berth_take where there is no berth: each reason, and that nothing is changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/berth.h"

static void without_a_daemon_the_handle_says_so(void **state)
{
    (void)state;
    struct berth *berth = berth_new();
    struct berth_taken *taken = NULL;
    setenv("BERTH_SOCKET", "/nonexistent/socket", 1);
    assert_int_equal(berth_take(berth, NULL, &taken), BERTH_ERROR_NO_DAEMON);
    assert_null(taken);
    assert_non_null(strstr(berth_error_detail(berth), "/nonexistent/socket"));
    berth_taken_free(NULL);
    assert_int_equal(berth_take(NULL, NULL, NULL), BERTH_ERROR_NO_DAEMON);
    berth_free(berth);
}

static void a_task_without_a_number_is_refused(void **state)
{
    (void)state;
    struct berth *berth = berth_new();
    setenv("MPI_LOCALRANKID", "0", 1);
    assert_int_equal(berth_take(berth, NULL, NULL), BERTH_ERROR_BAD_ARGUMENT);
    assert_non_null(strstr(berth_error_detail(berth), "MPI_LOCALNRANKS"));
    unsetenv("MPI_LOCALRANKID");
    berth_free(berth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_daemon_the_handle_says_so),
        cmocka_unit_test(a_task_without_a_number_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
