/* Times of memory: how they add up, their intervals, sources and doubts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cost/memtime.h"
#include "node/spread.h"

static void assert_near(double value, double expected)
{
    assert_true(fabs(value - expected) <= 1e-9 * fabs(expected));
}

static struct estimate estimate(struct memtime time) { return memtime_estimate(&time); }

static void one_more_repetition_is_farther_off_than_the_median(void **state)
{
    (void)state;
    struct estimate once = estimate(memtime_of(1000, 980, 1020, 9, 0, 1));
    double spread = spread_cell(log(1020.0 / 980) / 2, 9);
    assert_near(once.high_ns, 1000 * exp(spread));
    assert_near(once.low_ns, 1000 * exp(-spread));
    assert_true(once.low_ns < 980 && once.high_ns > 1020);
    /* A cell whose interval is narrow by chance counts with those that are measured alike. */
    assert_true(estimate(memtime_of(1000, 980, 1020, 9, 0.04, 1)).high_ns > once.high_ns);
    /* Many rounds even out. */
    double many = estimate(memtime_of(1000, 980, 1020, 9, 0, 100)).high_ns;
    assert_true(many < once.high_ns && many > 1000);
}

static void parts_add_up(void **state)
{
    (void)state;
    struct memtime one = memtime_of(300, 294, 306, 9, 0, 1),
                   similar = memtime_doubted(one, REASON_SIMILAR_ACCESS, SOURCE_SIMILAR_PAIR),
                   total = memtime_sum(memtime_sum(one, similar), (struct memtime){0});
    struct estimate alone = estimate(one), both = estimate(total);
    assert_near(both.high_ns - 600, sqrt(2) * (alone.high_ns - 300));
    assert_near(600 - both.low_ns, sqrt(2) * (300 - alone.low_ns));
    assert_true(alone.source == SOURCE_MEASURED && both.source == SOURCE_SIMILAR_PAIR);
    assert_int_equal(total.doubts, MEMTIME_DOUBT(REASON_SIMILAR_ACCESS));
}

static void noise_makes_no_time_negative(void **state)
{
    (void)state;
    struct estimate noisy = estimate(memtime_of(1000, 400, 2500, 7, 0, 1)),
                    none = estimate(memtime_of(500, 0, 3000, 7, 0, 1)),
                    nothing = estimate(memtime_of(0, 0, 0, 7, 0, 1));
    assert_true(noisy.low_ns > 0 && noisy.high_ns > 2500 && isfinite(noisy.high_ns));
    assert_true(none.low_ns == 0 && none.high_ns > 3000 && isfinite(none.high_ns));
    assert_true(nothing.low_ns == 0 && nothing.high_ns == 0);
}

static void what_is_not_known_has_no_interval(void **state)
{
    (void)state;
    struct memtime sum =
        memtime_sum(memtime_bare(700, SOURCE_PUBLISHED), memtime_of(300, 294, 306, 9, 0, 1));
    struct estimate known = estimate(sum), without = estimate(memtime_of(300, NAN, NAN, 0, 0, 1));
    assert_true(known.time_ns == 1000 && isnan(known.low_ns) && isnan(known.high_ns));
    assert_true(without.time_ns == 300 && isnan(without.low_ns) && isnan(without.high_ns));
    assert_true(isnan(estimate(memtime_sum(sum, memtime_unknown())).time_ns));
    /* A stated rate is never exceeded. */
    struct estimate least = estimate(memtime_bare(700, SOURCE_NOMINAL));
    assert_true(least.low_ns == 700 && isnan(least.high_ns));
}

static void each_doubt_is_one_warning(void **state)
{
    (void)state;
    for (int code = REASON_SIMILAR_ACCESS; code <= REASON_TOUCHED_BY_ONE_THREAD; code++) {
        struct reasons warnings = {0};
        memtime_warn(MEMTIME_DOUBT(code), "numa0", &warnings);
        memtime_warn(MEMTIME_DOUBT(code), "numa1", &warnings);
        assert_int_equal(warnings.count, 1);
        assert_true(warnings.item[0].code == (enum reason_code)code &&
                    warnings.item[0].subject_count == 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_more_repetition_is_farther_off_than_the_median),
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(noise_makes_no_time_negative),
        cmocka_unit_test(what_is_not_known_has_no_interval),
        cmocka_unit_test(each_doubt_is_one_warning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
