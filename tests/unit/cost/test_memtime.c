/* Times of memory: how they add up, and which interval is which. */
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

static void a_cell_has_two_intervals(void **state)
{
    (void)state;
    struct memtime time = memtime_of(1000, 980, 1020, 9, 0, 1);
    struct prediction median = memtime_median(&time), once = memtime_once(&time);
    assert_true(median.time_ns == 1000 && median.low_ns == 980 && median.high_ns == 1020);
    double spread = spread_cell(log(1020.0 / 980) / 2, 9);
    assert_near(once.high_ns, 1000 * exp(spread));
    assert_near(once.low_ns, 1000 * exp(-spread));
    assert_true(once.low_ns < 980 && once.high_ns > 1020);
    /* A cell whose interval is narrow by chance counts with those that are measured alike. */
    struct memtime among = memtime_of(1000, 980, 1020, 9, 0.04, 1);
    assert_true(memtime_once(&among).high_ns > once.high_ns &&
                memtime_median(&among).high_ns == 1020);
    /* Many rounds even out what each of them is off. */
    struct memtime many = memtime_of(1000, 980, 1020, 9, 0, 100);
    assert_true(memtime_once(&many).high_ns < once.high_ns && memtime_once(&many).high_ns > 1000);
}

static void parts_add_up(void **state)
{
    (void)state;
    struct memtime one = memtime_of(300, 294, 306, 9, 0, 1), two = memtime_sum(one, one),
                   total = memtime_sum(two, (struct memtime){0});
    struct prediction alone = memtime_once(&one), both = memtime_once(&total),
                      median = memtime_median(&total);
    /* what was measured wrong stays wrong */
    assert_true(median.time_ns == 600 && median.low_ns == 588 && median.high_ns == 612);
    /* what happens once more does not */
    assert_near(both.high_ns - 600, sqrt(2) * (alone.high_ns - 300));
    assert_near(600 - both.low_ns, sqrt(2) * (300 - alone.low_ns));
}

static void noise_makes_no_time_negative(void **state)
{
    (void)state;
    struct memtime noisy = memtime_of(1000, 400, 2500, 7, 0, 1),
                   none = memtime_of(500, 0, 3000, 7, 0, 1), nothing = memtime_of(0, 0, 0, 7, 0, 1);
    assert_true(memtime_once(&noisy).low_ns > 0 && memtime_once(&noisy).high_ns > 2500 &&
                isfinite(memtime_once(&noisy).high_ns));
    assert_true(memtime_once(&none).low_ns == 0 && memtime_once(&none).high_ns > 3000 &&
                isfinite(memtime_once(&none).high_ns));
    assert_true(memtime_once(&nothing).low_ns == 0 && memtime_once(&nothing).high_ns == 0);
}

static void what_is_not_known_has_no_interval(void **state)
{
    (void)state;
    struct memtime bare = memtime_bare(700),
                   sum = memtime_sum(bare, memtime_of(300, 294, 306, 9, 0, 1)),
                   unknown = memtime_sum(sum, memtime_unknown());
    assert_true(memtime_once(&sum).time_ns == 1000 && isnan(memtime_once(&sum).low_ns) &&
                isnan(memtime_once(&sum).high_ns));
    assert_true(isnan(memtime_median(&sum).low_ns) && isnan(memtime_once(&unknown).time_ns));
    struct memtime without = memtime_of(300, NAN, NAN, 0, 0, 1);
    assert_true(memtime_once(&without).time_ns == 300 && isnan(memtime_once(&without).low_ns) &&
                isnan(memtime_once(&without).high_ns));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cell_has_two_intervals),
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(noise_makes_no_time_negative),
        cmocka_unit_test(what_is_not_known_has_no_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
