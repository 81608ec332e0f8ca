/* Robust statistics beside their definitions, and beside published values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "fleet/spread.h"

static int compare(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return one < other ? -1 : one > other;
}

static double sorted_median(double *value, size_t count)
{
    qsort(value, count, sizeof *value, compare);
    return (value[(count - 1) / 2] + value[count / 2]) / 2;
}

static void a_median_is_the_middle_one(void **state)
{
    (void)state;
    unsigned seed = 7;
    for (size_t count = 1; count < 200; count++)
        for (int distinct = 1; distinct < 1000; distinct *= 9) {
            double value[200], copy[200];
            for (size_t i = 0; i < count; i++) {
                seed = seed * 1103515245 + 12345;
                copy[i] = value[i] = seed / 65536 % (unsigned)distinct;
            }
            double expected = sorted_median(copy, count);
            assert_true(spread_median(value, count) == expected);
        }
}

static void a_spread_ignores_outliers(void **state)
{
    (void)state;
    double value[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1e9};
    struct spread spread = spread_of(value, 11);
    assert_true(spread.median == 6);
    /* the median of 5 4 3 2 1 0 1 2 3 4 and a large one is 3; Croux and Rousseeuw's factor */
    assert_true(fabs(spread.deviation - 1.4826 * 3 * 11 / 10.2) < 1e-9);
    double one[] = {5};
    spread = spread_of(one, 1);
    assert_true(spread.median == 5 && spread.deviation == 0);
}

static void tails_are_those_of_tables(void **state)
{
    (void)state;
    static const struct {
        double t, freedom, p;
    } rows[] = {
        /* quantiles of Student's t, as in any table */
        {1.812, 10, 0.05}, {2.764, 10, 0.01},  {4.144, 10, 0.001}, {3.365, 5, 0.01},
        {5.893, 5, 0.001}, {3.385, 30, 0.001}, {10.215, 3, 0.001},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double p = exp(spread_log_student(rows[i].t, rows[i].freedom));
        assert_true(p > 0.99 * rows[i].p && p < 1.25 * rows[i].p); /* on the safe side */
    }
    assert_true(fabs(exp(spread_log_normal(1.959964)) - 0.025) < 1e-6);
    assert_true(fabs(spread_log_normal(29.99) - spread_log_normal(30.01) - 0.02 * 30) < 0.01);
    assert_true(isfinite(spread_log_normal(1e6)));
}

static void fisher_counts_tables(void **state)
{
    (void)state;
    /* Fisher's tea: all four of four cups out of eight */
    assert_true(fabs(spread_fisher(4, 4, 4, 8) - 1.0 / 70) < 1e-9);
    assert_true(fabs(spread_fisher(3, 4, 4, 8) - 17.0 / 70) < 1e-9);
    assert_true(fabs(spread_fisher(0, 4, 4, 8) - 1) < 1e-9);
    assert_true(spread_fisher(20, 20, 25, 2000) < 1e-30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_median_is_the_middle_one),
        cmocka_unit_test(a_spread_ignores_outliers),
        cmocka_unit_test(tails_are_those_of_tables),
        cmocka_unit_test(fisher_counts_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
