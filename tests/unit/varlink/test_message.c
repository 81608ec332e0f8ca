/* Numbers out of the JSON parser's range become ones within it; all else stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "varlink/message.h"

static void only_what_is_beyond_changes(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"{\"a\":9223372036854775808}", "{\"a\":92233720368547758e2}"},
        {"[-9223372036854775809,1]", "[-92233720368547758e2,1]"},
        {"[9223372036854775807,-9223372036854775808]", NULL},
        {"[1e400,-1E+309,1e308]", "[1e308,-1e308 ,1e308]"},
        {"{\"9223372036854775808\":\"\\\"1e400,\"}", NULL},
        {"[1.5e-400,0.1234567890123456789012345]", NULL},
        {"[1e400-5]", NULL},
        {"[01e400,1.e400,-e4000,1e400e1,99999999999999999999.]", NULL},
        {"[\"1e400", NULL},
        {"[\"1e400\\", NULL},
        {"99999999999999999999", "999999999999999999e2"},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[80];
        snprintf(text, sizeof text, "%s", rows[i][0]);
        message_fit_numerals(text, strlen(text));
        assert_string_equal(text, rows[i][1] != NULL ? rows[i][1] : rows[i][0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_what_is_beyond_changes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
