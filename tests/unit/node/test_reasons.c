/* Reasons as data: codes, subjects, numbers, and the sentences made of them. */
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
    reasons_add(&reasons, REASON_KEY_CLAIM_ENDED, NO_SUBJECTS, NO_NUMBERS);
    reasons_add(&reasons, REASON_KEY_CLAIM_ENDED, NO_SUBJECTS, NO_NUMBERS);
    assert_int_equal(reasons.count, 1);
    assert_string_equal(reasons.item[0].text,
                        "the plan is not kept under its key: the claim has ended");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_well_formed),
        cmocka_unit_test(the_same_reason_is_there_once),
        cmocka_unit_test(a_full_list_ends_by_saying_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
