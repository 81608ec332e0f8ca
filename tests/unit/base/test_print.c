/* JSON as text: commas, escapes, and numbers equal to those of printf. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/print.h"

static void assert_printed(struct print *print, const char *expected)
{
    print_bytes(print, "", 1);
    assert_false(print->failed);
    assert_string_equal(print->data, expected);
    print_clear(print);
}

static void test_shape(void **state)
{
    (void)state;
    struct print print;
    assert_true(print_init(&print, 1));
    print_open(&print, '{');
    print_key(&print, "a");
    print_open(&print, '[');
    print_integer(&print, 1);
    print_null(&print);
    print_open(&print, '[');
    print_close(&print, ']');
    print_string(&print, "x:[{,");
    print_string(&print, ":");
    print_open(&print, '{');
    print_close(&print, '}');
    print_close(&print, ']');
    print_key(&print, "b");
    print_string(&print, NULL);
    print_key(&print, "c");
    print_count(&print, -1);
    print_key(&print, "d");
    print_count(&print, 0);
    print_key(&print, "e");
    print_real(&print, NAN);
    print_key(&print, "f");
    json_t *tree = json_pack("{s:[b,b,n,i,f],s:{}}", "t", 1, 0, -7, 0.5, "u");
    print_json(&print, tree);
    json_decref(tree);
    print_close(&print, '}');
    assert_printed(&print,
                   "{\"a\":[1,null,[],\"x:[{,\",\":\",{}],\"b\":null,\"c\":null,\"d\":0,\"e\":null,"
                   "\"f\":{\"t\":[true,false,null,-7,0.5],\"u\":{}}}");
    print_done(&print);
}

static void assert_real(struct print *print, double value)
{
    char expected[64];
    snprintf(expected, sizeof expected, "%.15g", value + 0.0); /* -0.0 has no sign here */
    if (strpbrk(expected, ".e") == NULL)
        strcat(expected, ".0");
    print_real(print, value);
    assert_printed(print, expected);
}

static void test_reals(void **state)
{
    (void)state;
    struct print print;
    assert_true(print_init(&print, 64));
    const double some[] = {0.0,
                           -0.0,
                           1.0,
                           -1.0,
                           0.1,
                           96.2,
                           -96.2,
                           278.6,
                           1e14,
                           999999999999999.0,
                           1e15,
                           1e22,
                           1e300,
                           5e-324,
                           2.5e-7,
                           1e-6,
                           1e-5,
                           1.0 / 3.0,
                           1e6 - 1e-6,
                           123456789.123456,
                           0.3 - 0.1,
                           198162000000.0,
                           99999999.9999999,
                           1234567.8901234567};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        assert_real(&print, some[i]);
    uint64_t random = 88172645463325252u; /* xorshift; the seed is fixed */
    for (int i = 0; i < 200000; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        double any;
        memcpy(&any, &random, sizeof any);
        if (isfinite(any) && fpclassify(any) != FP_ZERO)
            assert_real(&print, any);
        assert_real(&print, (double)(int64_t)(random >> 44) /
                                (double)((const int[]){1, 10, 100, 1000, 1000000, 3, 7,
                                                       10000000})[random & 7]);
    }
    print_done(&print);
}

static void test_integers(void **state)
{
    (void)state;
    struct print print;
    assert_true(print_init(&print, 64));
    const int64_t some[] = {0, 1, -1, 9, 10, INT64_MAX, INT64_MIN};
    const char *const texts[] = {
        "0", "1", "-1", "9", "10", "9223372036854775807", "-9223372036854775808"};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        print_integer(&print, some[i]);
        assert_printed(&print, texts[i]);
    }
    print_done(&print);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shape), cmocka_unit_test(test_reals),
                                       cmocka_unit_test(test_integers)};
    return cmocka_run_group_tests_name("print", tests, NULL, NULL);
}
