/* Lines whose beginning is known: read as the JSON parser reads them, or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "fleet/known.h"

#define BEGIN(to)                                                                                  \
    "{\"record\":\"value\",\"metric\":\"m\",\"from\":\"a\",\"to\":\"" to "\",\"value\":"

static bool reads(struct fleet_known *known, const char *line, struct fleet_known_value *value)
{
    return fleet_known_read(known, line, strlen(line), value);
}

static void learn(struct fleet_known *known, const char *line, uint32_t series)
{
    fleet_known_learn(known, line, strlen(line), series, series == 1);
}

static void a_known_beginning_needs_no_parser(void **state)
{
    (void)state;
    struct fleet_known *known = fleet_known_new();
    struct fleet_known_value value;
    assert_non_null(known);
    assert_false(reads(known, BEGIN("b") "2,\"low\":1,\"high\":3,\"n\":9}", &value));
    learn(known, BEGIN("b") "2,\"low\":1,\"high\":3,\"n\":9}", 1);
    learn(known, BEGIN("c") "2,\"low\":1,\"high\":3,\"n\":9}", 2);
    fleet_known_rewind(known);
    assert_true(reads(known, BEGIN("b") "2.5e3,\"low\":1.5,\"high\":3e4,\"n\":9}", &value));
    assert_true(value.series == 1 && value.higher_is_better && value.value == 2500 &&
                value.low == 1.5 && value.high == 3e4);
    assert_true(reads(known, BEGIN("c") "4,\"low\":4,\"high\":4,\"n\":1}", &value));
    assert_true(value.series == 2 && !value.higher_is_better);
    fleet_known_rewind(known); /* a node without the first line */
    assert_true(reads(known, BEGIN("c") "4,\"low\":4,\"high\":4,\"n\":1}", &value));
    fleet_known_free(known);
}

#define EXPECTED                                                                                   \
    "{\"record\":\"expected\",\"metric\":\"m\",\"from\":\"a\",\"to\":\"b\",\"begun_s\":"

static void baselines_have_samples(void **state)
{
    (void)state;
    static const char *const others[] = {
        "1,\"accepted\":true,\"values\":[]}",
        "1,\"accepted\":maybe,\"values\":[1]}",
        "1,\"accepted\":true,\"values\":[1,]}",
        "1,\"accepted\":true,\"values\":[1,2}",
        "1,\"accepted\":true,\"values\":[1,2]",
        "1,\"accepted\":true,\"values\":[1,2]}}",
        "1,\"accepted\":true,\"values\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}",
        "1,\"values\":[1,2]}",
    };
    struct fleet_known *known = fleet_known_new();
    struct fleet_known_value value;
    char line[300];
    learn(known, EXPECTED "1790000000,\"accepted\":true,\"values\":[1,2,3]}", 1);
    fleet_known_rewind(known);
    assert_true(reads(known, EXPECTED "17,\"accepted\":false,\"values\":[96.5,2e3]}", &value));
    assert_true(value.samples == 2 && value.sample[0] == 96.5 && value.sample[1] == 2000);
    fleet_known_rewind(known);
    assert_true(reads(known,
                      EXPECTED "17,\"accepted\":false,\"values\":[1,2,3,4,5,6,7,8,9,10,11,12,13,"
                               "14,15,16]}",
                      &value));
    assert_true(value.samples == 16 && value.sample[15] == 16);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        snprintf(line, sizeof line, EXPECTED "%s", others[i]);
        fleet_known_rewind(known);
        assert_false(reads(known, line, &value));
    }
    fleet_known_free(known);
}

static void other_lines_are_for_the_parser(void **state)
{
    (void)state;
    static const char *const ends[] = {
        "",
        "}",
        "-2,\"low\":1,\"high\":3,\"n\":9}",
        "2,\"low\":1,\"high\":3,\"n\":9",
        "2,\"low\":1,\"high\":3,\"n\":9} ",
        "2,\"low\":1,\"high\":3,\"n\":9}}",
        "2,\"low\":1,\"high\":3,\"n\":9,\"x\":1}",
        "2,\"low\":null,\"high\":3,\"n\":9}",
        "nan,\"low\":1,\"high\":3,\"n\":9}",
        "2,\"high\":1,\"low\":3,\"n\":9}",
        "2}",
    };
    struct fleet_known *known = fleet_known_new();
    struct fleet_known_value value;
    char line[200];
    learn(known, BEGIN("b") "2,\"low\":1,\"high\":3,\"n\":9}", 1);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        snprintf(line, sizeof line, BEGIN("b") "%s", ends[i]);
        fleet_known_rewind(known);
        assert_false(reads(known, line, &value));
        learn(known, line, 3); /* and what is no such line is not learned */
    }
    fleet_known_rewind(known);
    assert_true(reads(known, BEGIN("b") "2,\"low\":1,\"high\":3,\"n\":9}", &value));
    assert_int_equal(value.series, 1);
    fleet_known_free(known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_known_beginning_needs_no_parser),
        cmocka_unit_test(baselines_have_samples),
        cmocka_unit_test(other_lines_are_for_the_parser),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
