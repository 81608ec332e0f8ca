/* Reasons as data: codes, subjects, numbers, and the sentences made of them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "node/reasons.h"

static void every_row_is_well_formed(void **state)
{
    (void)state;
    for (int code = 0; code < REASON_CODES; code++) {
        char name[32];
        const char *text = reasons_code_name((enum reason_code)code);
        assert_int_equal(strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-"), strlen(text));
        assert_null(reasons_number_name((enum reason_code)code, REASON_NUMBERS_MAX, name));
        for (int other = 0; other < code; other++)
            assert_string_not_equal(text, reasons_code_name((enum reason_code)other));
    }
}

static void the_same_reason_is_there_once(void **state)
{
    (void)state;
    struct reasons reasons = {0};
    reasons_add(&reasons, REASON_KEY_NOT_KEPT, NO_SUBJECTS, NO_NUMBERS);
    reasons_add(&reasons, REASON_KEY_NOT_KEPT, NO_SUBJECTS, NO_NUMBERS);
    assert_int_equal(reasons.count, 1);
    assert_string_equal(reasons.item[0].text,
                        "the plan is not kept under its key: the claim has ended, or the plan is "
                        "too large for that");
}

static void a_full_list_ends_by_saying_so(void **state)
{
    (void)state;
    struct reasons reasons = {0};
    for (int i = 0; i < REASONS_MAX + 5; i++)
        reasons_add(&reasons, REASON_GPUS_CLAIMED, NO_SUBJECTS, NUMBERS((double)i));
    assert_int_equal(reasons.count, REASONS_MAX);
    assert_int_equal(reasons.item[REASONS_MAX - 1].code, REASON_MORE);
}

/* Names and lists of any length: the text ends within its room, in whole characters. */
static void long_names_and_long_lists_are_cut(void **state)
{
    (void)state;
    char name[1000];
    for (size_t i = 0; i + 3 < sizeof name; i += 3)
        memcpy(name + i, "\u20ac", 4);
    for (int code = 0; code < REASON_CODES; code++) {
        struct reasons reasons = {0};
        char number[32];
        double numbers[REASON_NUMBERS_MAX] = {1e300, -1e300, NAN, INFINITY, 0, 1};
        size_t count = 0;
        while (reasons_number_name((enum reason_code)code, count, number) != NULL)
            count++;
        for (int i = 0; i < 100; i++) {
            name[3 * (size_t)(i % 20)] = (char)(i + ' ');
            reasons_add_about(&reasons, (enum reason_code)code, name,
                              (struct reason_numbers){count, numbers});
            assert_true(reasons.count > 0 && reasons.count <= REASONS_MAX);
            for (size_t r = 0; r < reasons.count; r++) {
                const struct reason *reason = &reasons.item[r];
                assert_non_null(memchr(reason->text, '\0', sizeof reason->text));
                assert_true(reason->subject_count <= REASON_SUBJECTS_MAX);
                for (size_t k = 0; k < reason->subject_count; k++)
                    assert_non_null(memchr(reason->subject[k], '\0', REASON_SUBJECT_SIZE));
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_well_formed),
        cmocka_unit_test(the_same_reason_is_there_once),
        cmocka_unit_test(a_full_list_ends_by_saying_so),
        cmocka_unit_test(long_names_and_long_lists_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
