/* Text for a person: printable characters, wrapping, tables, numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/answer.h"
#include "ui/ui.h"

static void what_came_from_elsewhere_cannot_steer_the_terminal(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shown;
    } rows[] = {
        {"plain", "plain"},
        {"a\tb\nc", "a?b?c"},
        {"\033[31mred", "?[31mred"},
        {"\x7f", "?"},
        {"\xc2\x9b"
         "31m",
         "?31m"},
        {"\u00e9\u2502\U0001F600", "\u00e9\u2502\U0001F600"},
        {"cut\xe2\x94", "cut??"},
        {"\xff\xfe", "??"},
        {"\x80", "?"},
        {"\xc1\xa1\xe0\x81\xa1", "?????"}, /* overlong */
        {"\xed\xa0\x80", "???"},           /* surrogate */
        {"\xf4\x90\x80\x80\xf8\x88\x80\x80", "????????"},
        {"", ""},
        {"a\u202eb\u2028c\u2029d\u2066e\u2069f\u200fg\u061ch\xc2\x85"
         "i",
         "a?b?c?d?e?f?g?h?i"},
        {"a\u00adb\u200bc\u2065\u206ad\ufeffe\U000e0041", "a?b?c??d?e?"},
        {"\u2010\u2027\u202f\u205f\u2070", "\u2010\u2027\u202f\u205f\u2070"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char buffer[64];
        struct ui ui = {0};
        ui_clean(buffer, sizeof buffer, rows[i].text);
        assert_string_equal(buffer, rows[i].shown);
        ui_text(&ui, rows[i].text);
        ui_put(&ui, "|");
        assert_memory_equal(ui.text, rows[i].shown, strlen(rows[i].shown));
        assert_string_equal(ui.text + strlen(rows[i].shown), "|");
        ui_done(&ui);
    }
    char small[5];
    ui_clean(small, sizeof small, "ab\u2502cd");
    assert_string_equal(small, "ab"); /* no half characters */
}

static void words_wrap(void **state)
{
    (void)state;
    struct ui ui = {.width = 20};
    ui_put(&ui, "- ");
    ui_paragraph(&ui, 2, "one two three four five\nsix seven-and-a-word-longer-than-the-line end");
    assert_string_equal(
        ui.text,
        "- one two three four\n  five six\n  seven-and-a-word-longer-than-the-line\n  end\n");
    ui_done(&ui);
    ui = (struct ui){.width = 20}; /* a number stays with its unit */
    ui_paragraph(&ui, 2, "the copy takes 1.34 ms; 5  more 7 ");
    assert_string_equal(ui.text, "the copy takes\n  1.34 ms; 5 more 7\n");
    ui_done(&ui);
}

static void tables_align(void **state)
{
    (void)state;
    struct ui ui = {.width = 40, .utf8 = true};
    struct ui_table table;
    ui_table_begin(&table, &ui, "lrll");
    ui_cell(&table, "name");
    ui_cell(&table, "n");
    ui_cell(&table, "%s", "");
    ui_cell(&table, "about");
    ui_cell(&table, "\u00e9\u00e9\u00e9\u00e9\u00e9");
    ui_cell(&table, "%d", 10);
    ui_cell(&table, "%s", "");
    ui_cell(&table, "some words that are too long for one line");
    ui_table_end(&table, 1, true);
    assert_string_equal(ui.text, " name    n  about\n \u00e9\u00e9\u00e9\u00e9\u00e9  10  some "
                                 "words that are too long\n            for one line\n");
    ui_done(&ui);
}

static void words_without_room_have_lines_of_their_own(void **state)
{
    (void)state;
    struct ui ui = {.width = 40, .utf8 = true};
    struct ui_table table;
    ui_table_begin(&table, &ui, "ll");
    ui_cell(&table, "a name of twenty-five chars");
    ui_cell(&table, "about");
    ui_cell(&table, "short");
    ui_cell(&table, "some words that are too long for one line");
    ui_table_end(&table, 1, true);
    assert_string_equal(ui.text, " a name of twenty-five chars  about\n short\n"
                                 "     some words that are too long for\n     one line\n");
    ui_done(&ui);
}

static void rows_wrap_at_columns(void **state)
{
    (void)state;
    struct ui ui = {.width = 24, .utf8 = true};
    struct ui_table table;
    ui_table_begin(&table, &ui, "lrrl");
    static const char *const cells[] = {"a name", "1 GB/s", "12 GB/s",  "when",
                                        "other",  "2 GB/s", "150 GB/s", "then"};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        ui_cell(&table, "%s", cells[i]);
    ui_table_end(&table, 0, false);
    assert_string_equal(ui.text, "a name  1 GB/s   12 GB/s\n    when\n"
                                 "other   2 GB/s  150 GB/s\n    then\n");
    ui_done(&ui);
    ui = (struct ui){.width = 20, .utf8 = true};
    ui_table_begin(&table, &ui, "lrrl");
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        ui_cell(&table, "%s", cells[i]);
    ui_table_end(&table, 0, false);
    assert_string_equal(ui.text, "a name  1 GB/s\n     12 GB/s  when\n"
                                 "other   2 GB/s\n    150 GB/s  then\n");
    ui_done(&ui);
}

/* An empty last cell has no line of its own, where a full row leaves it no room. */
static void an_empty_last_cell_takes_no_line(void **state)
{
    (void)state;
    struct ui ui = {.width = 20};
    struct ui_table table;
    ui_table_begin(&table, &ui, "lll");
    ui_cell(&table, "nine line");
    ui_cell(&table, "nine line");
    ui_cell(&table, "%s", "");
    ui_cell(&table, "a");
    ui_cell(&table, "b");
    ui_cell(&table, "why");
    ui_table_end(&table, 0, false);
    assert_string_equal(ui.text, "nine line  nine line\na          b\n    why\n");
    ui_done(&ui);
}

static void a_line_keeps_to_the_width(void **state)
{
    (void)state;
    struct ui ui = {.width = 20, .utf8 = true};
    ui_line(&ui, 2, "left out: %d values, %s", 12, "2 of them busy");
    assert_string_equal(ui.text, "left out:\n  12 values, 2 of\n  them busy\n");
    ui_done(&ui);
}

static void a_row_goes_on_below_its_own_beginning(void **state)
{
    (void)state;
    struct ui ui = {.width = 36, .utf8 = true};
    struct ui_table table;
    ui_table_begin(&table, &ui, "cll");
    ui_cell(&table, "\u2502  |");
    ui_cell(&table, "\u251c\u2500 name");
    ui_cell(&table, "some words that are too long for one line");
    ui_table_end(&table, 2, false);
    assert_string_equal(
        ui.text,
        "  \u251c\u2500 name  some words that are too\n  \u2502  |     long for one line\n");
    ui_done(&ui);
}

static void numbers_have_three_digits(void **state)
{
    (void)state;
    char buffer[UI_NUMBER];
    struct ui ui = {0};
    assert_string_equal(ui_bytes(buffer, 0), "0 B");
    assert_string_equal(ui_bytes(buffer, 1023), "1023 B");
    assert_string_equal(ui_bytes(buffer, INT64_C(64) << 30), "64 GiB");
    assert_string_equal(ui_bytes(buffer, 134731067392), "125 GiB");
    assert_string_equal(ui_bytes(buffer, INT64_MAX), "8 EiB");
    assert_string_equal(ui_bytes(buffer, -1), "-");
    assert_string_equal(ui_rate(buffer, 151.4e9), "151 GB/s");
    assert_string_equal(ui_rate(buffer, 31.51e9), "31.5 GB/s");
    assert_string_equal(ui_rate(buffer, NAN), "-");
    assert_string_equal(ui_time(&ui, buffer, 91.52), "91.5 ns");
    assert_string_equal(ui_time(&ui, buffer, 4613), "4.61 us");
    assert_string_equal(ui_time(&ui, buffer, 999.96), "1.00 us");
    assert_string_equal(ui_time(&ui, buffer, 7.2e12), "7200 s");
    assert_string_equal(ui_digits(buffer, 9.999), "10.0");
    assert_string_equal(ui_digits(buffer, 0.01234), "0.012");
    assert_string_equal(ui_digits(buffer, NAN), "-");
    assert_string_equal(ui_value(&ui, buffer, 12, "ratio"), "12");
    assert_string_equal(ui_value(&ui, buffer, 3.14159, "apples"), "3.14 apples");
    assert_string_equal(ui_when(buffer, 1790000000), "2026-09-21 14:13:20 UTC");
    assert_string_equal(ui_when(buffer, INT64_MAX), "-");
}

static void numbers_fold_into_ranges(void **state)
{
    (void)state;
    static const int numbers[] = {0, 1, 2, 4, 6, 7};
    char buffer[32], small[4];
    ui_ranges(buffer, sizeof buffer, numbers, 6);
    assert_string_equal(buffer, "0-2,4,6-7");
    ui_ranges(buffer, sizeof buffer, numbers, 0);
    assert_string_equal(buffer, "");
    ui_ranges(small, sizeof small, numbers, 6);
    assert_string_equal(small, "0-2");
}

static void progress_says_what_is_left_while_something_is(void **state)
{
    (void)state;
    static const struct {
        const char *remaining, *shown;
    } rows[] = {{"4613", "2 of 3  4.61 us left\n"}, {"0", "2 of 3\n"}, {"null", "2 of 3\n"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ui ui = {0};
        char text[80];
        snprintf(text, sizeof text, "{\"done\":2,\"total\":3,\"remaining_ns\":%s}",
                 rows[i].remaining);
        json_t *reply = json_loads(text, 0, NULL);
        ui_progress_line(&ui, reply);
        assert_string_equal(ui.text, rows[i].shown);
        json_decref(reply);
        ui_done(&ui);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_came_from_elsewhere_cannot_steer_the_terminal),
        cmocka_unit_test(words_wrap),
        cmocka_unit_test(tables_align),
        cmocka_unit_test(words_without_room_have_lines_of_their_own),
        cmocka_unit_test(rows_wrap_at_columns),
        cmocka_unit_test(an_empty_last_cell_takes_no_line),
        cmocka_unit_test(a_line_keeps_to_the_width),
        cmocka_unit_test(a_row_goes_on_below_its_own_beginning),
        cmocka_unit_test(numbers_have_three_digits),
        cmocka_unit_test(numbers_fold_into_ranges),
        cmocka_unit_test(progress_says_what_is_left_while_something_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
