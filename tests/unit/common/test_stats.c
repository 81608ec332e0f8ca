#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "common/random.h"
#include "common/stats.h"
#include "common/why.h"

static void sizes_in_a_reason_are_read_at_once(void **state)
{
    (void)state;
    struct probe_why why;
    assert_string_equal(probe_size(0).text, "0 bytes");
    assert_string_equal(probe_size(1023).text, "1023 bytes");
    assert_string_equal(probe_size(536870912).text, "512 MiB");
    assert_string_equal(probe_size(314572800).text, "300 MiB");
    assert_string_equal(probe_size(INT64_C(1610612736)).text, "1.5 GiB");
    assert_string_equal(probe_size(INT64_C(5) << 50).text, "5120 TiB");
    assert_false(probe_why_set(&why, "%s, not %s", probe_size(2048).text, probe_size(4096).text));
    assert_string_equal(why.text, "2 KiB, not 4 KiB");
}

/* The figures of Hoefler and Belli, and of any table of order-statistic intervals of the median. */
static void known_ranks(void **state)
{
    (void)state;
    static const struct {
        unsigned n, low, high;
        double coverage;
    } known[] = {{6, 1, 6, 0.96875},    {7, 1, 7, 0.984375},    {8, 1, 8, 0.9921875},
                 {9, 2, 8, 0.9609375},  {12, 3, 10, 0.9614258}, {20, 6, 15, 0.9586105},
                 {25, 8, 18, 0.9567147}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        unsigned low = 0, high = 0;
        assert_true(probe_stats_ranks(known[i].n, 0.5, &low, &high));
        assert_int_equal(low, known[i].low);
        assert_int_equal(high, known[i].high);
        assert_true(fabs(probe_stats_coverage(known[i].n, 0.5, low, high) - known[i].coverage) <
                    1e-6);
    }
}

static void too_few(void **state)
{
    (void)state;
    unsigned low = 77, high = 78;
    for (unsigned n = 1; n <= 5; n++)
        assert_false(probe_stats_ranks(n, 0.5, &low, &high));
    assert_false(probe_stats_ranks(35, 0.1, &low, &high)); /* 0.9^35 is 2.503 % */
    assert_int_equal(low, 77);
    assert_int_equal(high, 78);
    assert_true(probe_stats_ranks(36, 0.1, &low, &high));
    assert_int_equal(low, 1);
}

/* Every interval has at least 95 % and no narrower one on the same side has. */
static void coverage(void **state)
{
    (void)state;
    static const double quantiles[] = {0.1, 0.5};
    for (unsigned n = 6; n <= 200; n++)
        for (size_t i = 0; i < 2; i++) {
            unsigned low, high;
            if (!probe_stats_ranks(n, quantiles[i], &low, &high))
                continue;
            assert_true(low >= 1 && low < high && high <= n);
            assert_true(probe_stats_coverage(n, quantiles[i], low, high) >= 0.95 - 1e-12);
            assert_true(probe_stats_coverage(n, quantiles[i], low + 1, n + 1) < 0.975);
        }
}

static void quantiles(void **state)
{
    (void)state;
    double odd[] = {9, 1, 8, 2, 7, 3, 6, 4, 5};
    struct probe_summary summary = probe_stats_quantile(odd, 9, 0.5);
    assert_true(summary.value == 5 && summary.low == 2 && summary.high == 8 && summary.n == 9);
    double even[] = {6, 5, 4, 3, 2, 1};
    summary = probe_stats_quantile(even, 6, 0.5);
    assert_true(summary.value == 3.5 && summary.low == 1 && summary.high == 6);
    double one[] = {42};
    summary = probe_stats_quantile(one, 1, 0.5);
    assert_true(summary.value == 42 && isnan(summary.low) && isnan(summary.high));
    double hundred[100];
    for (int i = 0; i < 100; i++)
        hundred[i] = 100 - i;
    summary = probe_stats_quantile(hundred, 100, 0.1);
    assert_true(summary.value == 10 && summary.low >= 4 && summary.low <= 5 && summary.high >= 16 &&
                summary.high <= 17);
}

static void stopping(void **state)
{
    (void)state;
    double calm[PROBE_STATS_MAX], wild[PROBE_STATS_MAX];
    for (int i = 0; i < PROBE_STATS_MAX; i++) {
        calm[i] = 100 + 0.1 * (i % 3);
        wild[i] = 100 + 20 * (i % 3);
    }
    assert_false(probe_stats_enough(calm, 5, true)); /* never fewer than six */
    assert_true(probe_stats_enough(calm, 6, false));
    assert_false(probe_stats_enough(wild, 6, false));
    assert_true(probe_stats_enough(wild, 6, true)); /* the time is spent */
    assert_false(probe_stats_enough(wild, PROBE_STATS_MAX - 1, false));
    assert_true(probe_stats_enough(wild, PROBE_STATS_MAX, false));
    double edge[] = {99, 99, 99, 101, 101, 101};
    assert_true(probe_stats_enough(edge, 6, false)); /* exactly 1 % each way */
    double beyond[] = {98.9, 98.9, 98.9, 101.1, 101.1, 101.1};
    assert_false(probe_stats_enough(beyond, 6, false));
}

/* About 96 % of intervals over samples of a known distribution contain its median. */
static void simulated(void **state)
{
    (void)state;
    struct probe_random random = {7};
    int inside = 0;
    for (int run = 0; run < 4000; run++) {
        double samples[9];
        for (int i = 0; i < 9; i++)
            /* skewed; the median is 1/8 */
            samples[i] = pow((double)probe_random_below(&random, 1000000) / 1e6, 3);
        struct probe_summary summary = probe_stats_quantile(samples, 9, 0.5);
        inside += summary.low <= 0.125 && summary.high >= 0.125;
    }
    assert_in_range(inside, 3800, 3890); /* 96.1 % is 3844, five standard deviations are 61 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_in_a_reason_are_read_at_once),
        cmocka_unit_test(known_ranks),
        cmocka_unit_test(too_few),
        cmocka_unit_test(coverage),
        cmocka_unit_test(quantiles),
        cmocka_unit_test(stopping),
        cmocka_unit_test(simulated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
