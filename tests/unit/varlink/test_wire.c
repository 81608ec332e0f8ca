/* Messages are unchanged for every size of the pieces, and the buffer keeps to its limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "varlink/wire.h"

/* Message number i: a few bytes, now and then many. */
static size_t make(unsigned i, char *text)
{
    size_t length = i % 97 == 0 ? 5000 + i : i * 7919 % 40;
    memset(text, 'a' + (char)(i % 26), length);
    text[length] = '\0';
    return length;
}

static void expect_next(struct wire *wire, unsigned number)
{
    static char expected[20000];
    const char *text;
    size_t length, wanted = make(number, expected);
    assert_true(wire_next(wire, &text, &length));
    assert_int_equal(length, wanted);
    assert_string_equal(text, expected);
}

/* Reads that bring up to piece bytes each; messages are taken whenever take_above are complete. */
static void run(size_t piece, unsigned take_above)
{
    enum { MESSAGES = 1000 };
    static char all[MESSAGES * 600];
    size_t total = 0, fed = 0;
    for (unsigned i = 0; i < MESSAGES; i++)
        total += make(i, all + total) + 1;
    struct wire wire;
    wire_init(&wire, 64 * 1024);
    unsigned taken = 0;
    while (taken < MESSAGES) {
        char *room;
        size_t size;
        assert_true(wire_room(&wire, &room, &size));
        size_t count = size < piece ? size : piece;
        if (count > total - fed)
            count = total - fed;
        memcpy(room, all + fed, count);
        wire_filled(&wire, count);
        fed += count;
        assert_true(wire.size <= 64 * 1024);
        while (wire.complete > (fed < total && !wire_is_full(&wire) ? take_above : 0))
            expect_next(&wire, taken++);
    }
    assert_int_equal(fed, total);
    assert_false(wire_is_partial(&wire));
    wire_done(&wire);
}

static void test_pieces(void **state)
{
    (void)state;
    for (size_t piece = 1; piece < 200000; piece = piece * 3 + 1)
        for (unsigned take_above = 0; take_above < 1000; take_above = take_above * 5 + 3)
            run(piece, take_above);
}

static void test_limit(void **state)
{
    (void)state;
    struct wire wire;
    char *room;
    size_t size, length;
    const char *text;
    wire_init(&wire, 100);
    assert_true(wire_room(&wire, &room, &size));
    assert_int_equal(size, 100);
    memset(room, 'x', 100);
    wire_filled(&wire, 99);
    assert_true(wire_is_partial(&wire));
    assert_false(wire_is_full(&wire));
    assert_true(wire_room(&wire, &room, &size));
    assert_int_equal(size, 1);
    room[0] = '\0';
    wire_filled(&wire, 1); /* limit bytes with their NUL are a message */
    assert_true(wire_is_full(&wire));
    assert_false(wire_is_partial(&wire));
    assert_true(wire_next(&wire, &text, &length));
    assert_int_equal(length, 99);

    assert_true(wire_room(&wire, &room, &size));
    memset(room, 'x', 100);
    wire_filled(&wire, 100); /* without one they never will be */
    assert_true(wire_is_full(&wire) && wire_is_partial(&wire));
    assert_true(wire_room(&wire, &room, &size));
    assert_int_equal(size, 0);
    assert_false(wire_next(&wire, &text, &length));
    wire_done(&wire);
}

/* A large buffer is given back when it is empty. */
static void test_gives_back(void **state)
{
    (void)state;
    struct wire wire;
    char *room;
    size_t size, length;
    const char *text;
    wire_init(&wire, 1024 * 1024);
    for (size_t fed = 0; fed < 500000; fed += size) {
        assert_true(wire_room(&wire, &room, &size));
        memset(room, 'x', size);
        wire_filled(&wire, size);
    }
    assert_true(wire_room(&wire, &room, &size));
    room[0] = '\0';
    wire_filled(&wire, 1);
    assert_true(wire_next(&wire, &text, &length));
    assert_true(wire.size > 500000);
    assert_true(wire_room(&wire, &room, &size));
    assert_true(wire.size <= 4096);
    wire_done(&wire);
    wire_done(&wire);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_gives_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
