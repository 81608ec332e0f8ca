/* Estimates of accesses to memory: how they add up, and what becomes of sources and doubts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cost/memtime.h"

static struct estimate part(double time_ns, double half, enum source source, enum reason_code why)
{
    return (struct estimate){.time_ns = time_ns,
                             .low_ns = time_ns - half,
                             .high_ns = time_ns + half,
                             .source = source,
                             .why = why};
}

/* What is off in one measurement may be off in all: deviations are added. */
static void parts_add_up(void **state)
{
    (void)state;
    struct estimate sum = estimate_sum(part(300, 6, SOURCE_MEASURED, 0),
                                       part(200, 5, SOURCE_PUBLISHED, REASON_SIMILAR_ACCESS));
    assert_true(sum.time_ns == 500 && sum.low_ns == 489 && sum.high_ns == 511);
    assert_true(sum.source == SOURCE_PUBLISHED && sum.why == REASON_SIMILAR_ACCESS);
    assert_true(isnan(estimate_sum(sum, part(1, NAN, SOURCE_MEASURED, 0)).high_ns));
    assert_true(isnan(estimate_sum(sum, part(NAN, 0, SOURCE_MEASURED, 0)).time_ns));
}

/* Whatever the order of the parts, and whoever is longer. */
static void the_worst_source_has_the_doubt(void **state)
{
    (void)state;
    struct estimate bound = part(1, 0, SOURCE_LOWER_BOUND, REASON_RANDOM_AS_STREAM),
                    similar = part(9, 0, SOURCE_SIMILAR_PAIR, REASON_SIMILAR_ACCESS);
    assert_int_equal(estimate_sum(bound, similar).why, REASON_RANDOM_AS_STREAM);
    assert_int_equal(estimate_sum(similar, bound).why, REASON_RANDOM_AS_STREAM);
    struct estimate doubted = estimate_doubted(bound, SOURCE_NOMINAL, REASON_ACCESS_BY_LINKS);
    assert_true(doubted.why == REASON_RANDOM_AS_STREAM && doubted.source == SOURCE_LOWER_BOUND);
    /* a doubt that changes no source is kept where there is none */
    assert_int_equal(
        estimate_doubted(part(1, 0, SOURCE_NOMINAL, 0), SOURCE_MEASURED, REASON_SETUP_NOT_COUNTED)
            .why,
        REASON_SETUP_NOT_COUNTED);
}

static void what_is_stated_takes_at_least_so_long(void **state)
{
    (void)state;
    struct estimate least = estimate_at_least(part(700, 7, SOURCE_NOMINAL, 0)),
                    known = estimate_at_least(part(700, 7, SOURCE_PUBLISHED, 0));
    assert_true(least.low_ns == 700 && isnan(least.high_ns));
    assert_true(known.low_ns == 693 && known.high_ns == 707);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(the_worst_source_has_the_doubt),
        cmocka_unit_test(what_is_stated_takes_at_least_so_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
