/* Intervals contain one more repetition as often as they state, by simulation with a fixed seed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/stats.h"
#include "node/spread.h"
#include "unit/base/random.h"

#define TRIALS 40000

static double normal(uint64_t *seed)
{
    return sqrt(-2 * log(random_uniform(seed))) * cos(2 * M_PI * random_uniform(seed));
}

static void one_more_is_inside(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (unsigned n = 6; n <= 25; n++) {
        size_t inside = 0;
        double deviation = 0;
        for (int trial = 0; trial < TRIALS; trial++) {
            double samples[25];
            for (unsigned i = 0; i < n; i++)
                samples[i] = 100 + normal(&seed);
            struct probe_summary summary = probe_stats_quantile(samples, n, 0.5);
            double half = (summary.high - summary.low) / 2;
            inside += fabs(100 + normal(&seed) - summary.value) <= spread_cell(half, n);
            deviation += spread_deviation(half, n);
        }
        double share = (double)inside / TRIALS;
        print_message("n %2u: %.1f %% inside, deviation %.3f\n", n, 100 * share,
                      deviation / TRIALS);
        assert_true(share > 0.94 && share < 0.96);
        assert_true(fabs(deviation / TRIALS - 1) < 0.03);
    }
}

static void many_repetitions_say_the_same(void **state)
{
    (void)state;
    uint64_t seed = 5;
    static double samples[1000];
    double deviation = 0;
    for (int trial = 0; trial < 300; trial++) {
        for (unsigned i = 0; i < 1000; i++)
            samples[i] = 100 + normal(&seed);
        struct probe_summary summary = probe_stats_quantile(samples, 1000, 0.5);
        deviation += spread_deviation((summary.high - summary.low) / 2, 1000) / 300;
    }
    assert_true(fabs(deviation - 1) < 0.05);
    assert_true(spread_deviation(1, 0) == spread_deviation(1, SPREAD_N_LEAST));
    assert_true(spread_cell(0, 9) == 0);
    assert_true(isnan(spread_cell(NAN, 9)));
}

/* Four repetitions even out their own deviations, and not that of the median. */
static void the_mean_of_several_is_inside(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (unsigned n = 6; n <= 21; n += 5)
        for (int count = 2; count <= 16; count *= 2) {
            size_t inside = 0;
            for (int trial = 0; trial < TRIALS; trial++) {
                double samples[21], mean = 0;
                for (unsigned i = 0; i < n; i++)
                    samples[i] = 100 + normal(&seed);
                for (int i = 0; i < count; i++)
                    mean += (100 + normal(&seed)) / count;
                struct probe_summary summary = probe_stats_quantile(samples, n, 0.5);
                double half = (summary.high - summary.low) / 2,
                       within = spread_mean(half, n, 0, count);
                inside += fabs(mean - summary.value) <= within;
                assert_true(within < spread_cell(half, n) || half == 0);
            }
            double share = (double)inside / TRIALS;
            print_message("n %2u, mean of %2d: %.1f %% inside\n", n, count, 100 * share);
            assert_true(share > 0.93 && share < 0.97);
        }
    /* a part of one is no better than one */
    assert_true(spread_mean(1, 9, 0, 0.5) == spread_cell(1, 9));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_more_is_inside),
                                       cmocka_unit_test(the_mean_of_several_is_inside),
                                       cmocka_unit_test(many_repetitions_say_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
