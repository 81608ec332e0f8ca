/* Numbers of the kernel's events at their limits, as a recorded node of anyone may have them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "node/kernel_events.h"

#define MOST INT64_C(1000000000000000)

static bool parse(int64_t at_s, int64_t count, struct kernel_event *ret)
{
    int64_t sequence;
    json_t *object =
        json_pack("{s:s, s:s, s:i, s:I, s:I, s:s}", "event", "xid", "at", "", "number", 79, "at_s",
                  (json_int_t)at_s, "count", (json_int_t)count, "text", "fell off the bus");
    bool ok = kernel_events_parse(object, ret, &sequence);
    json_decref(object);
    return ok;
}

static void counts_end_at_their_limit(void **state)
{
    (void)state;
    struct kernel_events events = {0};
    struct kernel_event event, again;
    int64_t sequence;
    assert_true(parse(5, MOST, &event));
    for (int i = 0; i < 10000; i++)
        assert_true(kernel_events_enter(&events, &event));
    assert_int_equal(events.count, 1);
    assert_int_equal(events.event[0].count, MOST);
    json_t *stored = kernel_events_json(&events.event[0]);
    assert_true(kernel_events_parse(stored, &again, &sequence) && again.count == MOST);
    json_decref(stored);
    kernel_events_done(&events);
}

static void times_before_1970_and_large_numbers_are_none(void **state)
{
    (void)state;
    struct kernel_event event;
    assert_true(parse(0, 1, &event) && parse(MOST, 1, &event));
    assert_false(parse(-1, 1, &event));
    assert_false(parse(INT64_MIN, 1, &event));
    assert_false(parse(MOST + 1, 1, &event));
    assert_false(parse(5, 0, &event));
    assert_false(parse(5, MOST + 1, &event));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_end_at_their_limit),
        cmocka_unit_test(times_before_1970_and_large_numbers_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
