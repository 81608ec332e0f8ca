/* Corrections by reports: when they agree, how they are shrunken and bounded, what they widen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cost/correction.h"

static void fewer_than_eight_correct_nothing(void **state)
{
    (void)state;
    const float same[CORRECTION_REPORTS_MAX] = {[0 ... CORRECTION_REPORTS_MAX - 1] = 0.3f};
    assert_int_equal(correction_of(same, 0).reports, 0);
    assert_int_equal(correction_of(same, 7).reports, 0);
    assert_int_equal(correction_of(same, 8).reports, 8);
    assert_int_equal(correction_of(same, CORRECTION_REPORTS_MAX).reports, CORRECTION_REPORTS_MAX);
    assert_float_equal(correction_of(same, 8).factor, exp(0.3), 1e-6);
}

static void a_quarter_may_be_anything(void **state)
{
    (void)state;
    float some[8] = {0.3f, 0.31f, 0.29f, 0.3f, 0.32f, 0.3f, 4, -4};
    assert_float_equal(correction_of(some, 8).factor, exp(0.3), 0.01);
    some[0] = 3;
    assert_int_equal(correction_of(some, 8).reports, 0);
}

static void noise_is_shrunken_away(void **state)
{
    (void)state;
    const float noise[8] = {-0.09f, 0.1f, -0.1f, 0.11f, 0.01f, 0.02f, -0.08f, 0.12f};
    assert_float_equal(correction_of(noise, 8).factor, 1, 1e-9);
    assert_int_equal(correction_of(noise, 8).reports, 8);
}

static void the_bound_cuts_and_the_spread_says_so(void **state)
{
    (void)state;
    const float far[8] = {3, 3, 3, 3, 3, 3, 3, 3};
    struct correction correction = correction_of(far, 8);
    assert_float_equal(correction.factor, 2, 1e-9);
    assert_float_equal(correction.spread, 3 - log(2), 1e-6);
    struct estimate estimate = estimate_of(100, 100, NAN);
    estimate.source = SOURCE_LOWER_BOUND;
    estimate = correction_apply(&correction, estimate);
    assert_float_equal(estimate.time_ns, 200, 1e-6);
    assert_true(estimate.low_ns < 100 && estimate.high_ns > 2000);
}

static void measured_and_unknown_times_stay(void **state)
{
    (void)state;
    const struct correction correction = {.factor = 1.5, .spread = 0.1, .reports = 9};
    struct estimate estimate = estimate_of(100, 90, 110);
    assert_float_equal(correction_apply(&correction, estimate).time_ns, 100, 0);
    estimate.source = SOURCE_SIMILAR_PAIR;
    struct estimate corrected = correction_apply(&correction, estimate);
    assert_float_equal(corrected.time_ns, 150, 1e-9);
    assert_true(corrected.high_ns / corrected.time_ns > 1.25);
    estimate.time_ns = NAN;
    assert_true(isnan(correction_apply(&correction, estimate).time_ns));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fewer_than_eight_correct_nothing),
        cmocka_unit_test(a_quarter_may_be_anything),
        cmocka_unit_test(noise_is_shrunken_away),
        cmocka_unit_test(the_bound_cuts_and_the_spread_says_so),
        cmocka_unit_test(measured_and_unknown_times_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
