/* Sizes, counts and slips of the finger on the command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "ui/answer.h"

static void sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t bytes;
    } good[] = {
        {"0", 0},
        {"4096", 4096},
        {"4096B", 4096},
        {"4K", 4096},
        {"4KiB", 4096},
        {"4KB", 4000},
        {"1.5G", 1610612736},
        {"1.5gb", 1500000000},
        {"2T", INT64_C(1) << 41},
        {"9007199254740993", 9007199254740993},
        {"0.5", 0},
        {"3MB", 3000000},
        {"1TB", 1000000000000},
        {"4000000000000000000", 4000000000000000000},
    };
    static const char *const bad[] = {"",
                                      "K",
                                      "-1",
                                      "+1",
                                      " 1",
                                      "1 K",
                                      "4X",
                                      "4KK",
                                      "1e9",
                                      "0x10",
                                      "1.2.3",
                                      ".5",
                                      "5000000000000000000",
                                      "99999999T",
                                      "1111111111111111111111111111111111111111",
                                      "nan",
                                      "inf"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int64_t bytes = -1;
        if (!lib_parse_size(good[i].text, &bytes))
            fail_msg("%s is a size", good[i].text);
        assert_int_equal(bytes, good[i].bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t bytes = -1;
        if (lib_parse_size(bad[i], &bytes))
            fail_msg("%s is no size", bad[i]);
        assert_int_equal(bytes, -1);
    }
}

/* A wrong size has a wrong unit, or another error. */
static void units(void **state)
{
    (void)state;
    char doubt[LIB_DOUBT_SIZE];
    assert_string_equal(lib_size_doubt("2E", doubt),
                        ": E is no unit; B, K, M, G and T are (powers of 1024), and KB, MB, GB and "
                        "TB (powers of 1000)");
    assert_string_equal(lib_size_doubt("1.5GiBs", doubt),
                        ": GiBs is no unit; B, K, M, G and T are (powers of 1024), and KB, MB, GB "
                        "and TB (powers of 1000)");
    assert_non_null(strstr(lib_size_doubt("4a-unit-that-is-far-too-long-for-anything", doubt),
                           "is no unit; B, K, M, G and T are (powers of 1024), and KB, MB, GB and "
                           "TB (powers of 1000)"));
    static const char *const other[] = {"", "K", "-1", "99999999T", "1.2.3", "4gib", "nan"};
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        assert_string_equal(lib_size_doubt(other[i], doubt), "");
}

static void counts(void **state)
{
    (void)state;
    long count = -1;
    assert_true(lib_parse_count("8", 1, 8, &count) && count == 8);
    assert_false(lib_parse_count("9", 1, 8, &count) || lib_parse_count("0", 1, 8, &count) ||
                 lib_parse_count("-1", -5, 8, &count) || lib_parse_count("", 0, 8, &count) ||
                 lib_parse_count("1x", 0, 8, &count) ||
                 lib_parse_count("99999999999999999999", 0, 8, &count));
}

static void lists(void **state)
{
    (void)state;
    json_t *list = cmd_list("a,,bc,");
    char *text = json_dumps(list, JSON_COMPACT);
    assert_string_equal(text, "[\"a\",\"bc\"]");
    free(text);
    json_decref(list);
    assert_null(cmd_list("a,\xff"));
}

static void what_was_probably_meant(void **state)
{
    (void)state;
    static const char *const names[] = {"topo", "matrix", "bind", "alloc", "health"};
    assert_string_equal(cmd_nearest("tpoo", names, 5), "topo");
    assert_string_equal(cmd_nearest("halth", names, 5), "health");
    assert_string_equal(cmd_nearest("mat", names, 5), "matrix");
    assert_null(cmd_nearest("x", names, 5));
    assert_null(cmd_nearest("entirely-different", names, 5));
    assert_null(cmd_nearest("a-word-that-is-far-too-long-for-anything-at-all", names, 5));
}

static void environment_is_quoted_for_a_shell(void **state)
{
    (void)state;
    struct ui ui = {0};
    json_t *task = json_pack("{s:{s:s,s:s},s:[s]}", "environment", "A", "it's $HOME `x`", "B_1", "",
                             "unset", "C");
    assert_true(ui_bind_environment(&ui, task));
    assert_string_equal(ui.text, "unset C\nexport A='it'\\''s $HOME `x`'\nexport B_1=''\n");
    ui_done(&ui);
    json_decref(task);
    static const char *const bad[] = {"", "1A", "A B", "A;rm", "A-B", "\u00e9"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        json_t *hostile = json_pack("{s:{s:s},s:[]}", "environment", bad[i], "x", "unset"),
               *other = json_pack("{s:{},s:[s]}", "environment", "unset", bad[i]);
        assert_false(ui_bind_environment(&ui, hostile));
        assert_false(ui_bind_environment(&ui, other));
        assert_null(ui.text);
        json_decref(hostile);
        json_decref(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(units),
        cmocka_unit_test(counts),
        cmocka_unit_test(lists),
        cmocka_unit_test(what_was_probably_meant),
        cmocka_unit_test(environment_is_quoted_for_a_shell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
