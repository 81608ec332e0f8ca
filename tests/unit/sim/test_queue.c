/* Streams of one who: split or merged, their bytes take as long, and nobody else notices. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sim/share.h"
#include "unit/base/random.h"

#define WHOS   8
#define PARTS  4
#define LIMITS 5

struct world {
    struct resource_step step[LIMITS][2];
    struct load_limit limit[LIMITS];
    uint16_t use[WHOS][LIMITS];
    struct load_stream whole[WHOS];
    struct load_stream part[WHOS * PARTS];
    size_t parts;
};

/* Each who's bytes in one stream, and the same in several, in any order. */
static void make(struct world *w, uint64_t *seed)
{
    *w = (struct world){.parts = 0};
    for (size_t l = 0; l < LIMITS; l++) {
        w->step[l][0] = (struct resource_step){1 + (unsigned)(random_uniform(seed) * 3),
                                               5 + floor(random_uniform(seed) * 60), NAN, NAN, NAN};
        w->step[l][1] = (struct resource_step){
            w->step[l][0].flows + 2, w->step[l][0].bytes_per_s * (0.7 + random_uniform(seed)), NAN,
            NAN, NAN};
        w->limit[l] =
            (struct load_limit){.step = w->step[l], .step_count = 1 + (random_uniform(seed) < 0.5)};
    }
    for (size_t i = 0; i < WHOS; i++) {
        struct load_stream *whole = &w->whole[i];
        size_t parts = 1 + (size_t)(random_uniform(seed) * PARTS);
        *whole = (struct load_stream){.bytes_per_s = 1 + floor(random_uniform(seed) * 40),
                                      .use = w->use[i],
                                      .kind = 1,
                                      .who = (uint32_t)(i + 1)};
        whole->start_ns = whole->begin_ns = 1e9 * floor(2 * random_uniform(seed));
        for (size_t l = 0; l < LIMITS; l++)
            if (random_uniform(seed) < 0.3)
                w->use[i][whole->use_count++] = (uint16_t)l;
        for (size_t p = 0; p < parts; p++) {
            struct load_stream part = *whole;
            size_t at = (size_t)(random_uniform(seed) * (double)(w->parts + 1));
            part.bytes = 1 + floor(random_uniform(seed) * 20);
            whole->bytes += part.bytes;
            w->part[w->parts++] = w->part[at];
            w->part[at] = part;
        }
    }
}

static void split_bytes_take_as_long(void **state)
{
    (void)state;
    uint64_t seed = 11;
    struct load_share *share = load_share_new(LIMITS, WHOS * PARTS, LIMITS, WHOS);
    assert_non_null(share);
    for (int trial = 0; trial < 3000; trial++) {
        struct world w;
        double all_ns = 0;
        make(&w, &seed);
        load_share_run(share, w.limit, w.whole, WHOS);
        load_share_run(share, w.limit, w.part, w.parts);
        for (size_t i = 0; i < WHOS; i++) {
            double last_ns = 0;
            size_t first = 0;
            for (size_t p = 0; p < w.parts; p++) {
                const struct load_stream *part = &w.part[p];
                if (part->who != w.whole[i].who)
                    continue;
                last_ns = fmax(last_ns, part->end_ns);
                first += !part->is_behind;
                assert_true(part->end_ns >=
                            part->start_ns + part->bytes / part->bytes_per_s * 1e9 * (1 - 1e-9));
                /* who has more ends later, who has as much at the same time */
                for (size_t other = 0; other < w.parts; other++)
                    if (w.part[other].who == part->who)
                        assert_true(w.part[other].bytes == part->bytes
                                        ? fabs(w.part[other].end_ns - part->end_ns) <= 1
                                        : (w.part[other].bytes > part->bytes) ==
                                              (w.part[other].end_ns > part->end_ns));
            }
            all_ns = fmax(all_ns, last_ns);
            assert_int_equal(first, 1);
            if (!(fabs(last_ns - w.whole[i].end_ns) <= 1e-6 * last_ns + 1))
                fail_msg("trial %d: %.9g is not %.9g", trial, last_ns, w.whole[i].end_ns);
        }
        assert_true(load_share_least_ns(share, w.limit, w.part, w.parts) <= all_ns * (1 + 1e-9));
    }
    load_share_free(share);
}

static void assert_s(const struct load_stream *stream, double s)
{
    if (!(fabs(stream->end_ns / 1e9 - s) <= 1e-6))
        fail_msg("%.9g s is not %.9g", stream->end_ns / 1e9, s);
}

/* In turns, the same time each: one with a third of the other's bytes ends when as many of each
 * have moved. */
static void they_take_turns(void **state)
{
    (void)state;
    struct load_share *share = load_share_new(1, 3, 1, 2);
    assert_non_null(share);
    struct load_stream streams[] = {{.bytes_per_s = 10, .bytes = 30, .who = 2},
                                    {.bytes_per_s = 10, .bytes = 10, .who = 2},
                                    {.bytes_per_s = 10, .bytes = 30, .who = 1}};
    load_share_run(share, NULL, streams, 3);
    assert_s(&streams[0], 4);
    assert_s(&streams[1], 2);
    assert_s(&streams[2], 3);
    assert_int_equal(streams[0].shared, LOAD_NO_LIMIT);
    /* As many bytes of which one's go half as fast, as those of another size do. */
    streams[0] = (struct load_stream){.bytes_per_s = 5, .bytes = 10, .who = 2};
    load_share_run(share, NULL, streams, 3);
    assert_s(&streams[0], 3);
    assert_s(&streams[1], 3);
    /* One that begins later is not done before. */
    streams[1].start_ns = streams[1].begin_ns = 8e9;
    load_share_run(share, NULL, streams, 3);
    assert_s(&streams[1], 9);
    /* Of nobody: each has its own. */
    for (size_t i = 0; i < 3; i++)
        streams[i] = (struct load_stream){.bytes_per_s = 10, .bytes = 30};
    load_share_run(share, NULL, streams, 3);
    assert_true(streams[0].end_ns == 3e9 && streams[2].end_ns == 3e9 && !streams[2].is_behind);
    load_share_free(share);
}

/* Of other sizes a queue goes faster, or slower, once the smaller ones have ended: nobody gets more
 * than alone for that, and what it leaves goes to others. */
static void a_part_goes_at_its_own_rate(void **state)
{
    (void)state;
    const struct {
        double capacity, small_bytes_per_s, large_bytes_per_s, other_bytes_per_s, small_s, large_s,
            other_s;
    } cases[] = {
        /* 8 beside 8.5; then 11.5, and 20 when the other has ended */
        {20, 5, 20, 8.5, 2.5, 4.1375, 4},
        {12, 20, 5, 7, 10.0 / 3, 22.0 / 3, 16.0 / 3}, /* 6 beside 6; then 5 beside 7 */
    };
    const uint16_t use[] = {0};
    struct load_share *share = load_share_new(1, 3, 1, 2);
    assert_non_null(share);
    for (size_t c = 0; c < 2; c++) {
        const struct resource_step step = {1, cases[c].capacity, NAN, NAN, NAN};
        const struct load_limit limit = {&step, 1, NULL};
        struct load_stream streams[] = {
            {.bytes_per_s = cases[c].large_bytes_per_s, .bytes = 30, .who = 1},
            {.bytes_per_s = cases[c].other_bytes_per_s, .bytes = 34, .who = 2},
            {.bytes_per_s = cases[c].small_bytes_per_s, .bytes = 10, .who = 1}};
        for (size_t i = 0; i < 3; i++) {
            streams[i].use = use;
            streams[i].use_count = 1;
            streams[i].kind = 1;
        }
        load_share_run(share, &limit, streams, 3);
        assert_s(&streams[2], cases[c].small_s);
        assert_s(&streams[0], cases[c].large_s);
        assert_s(&streams[1], cases[c].other_s);
    }
    load_share_free(share);
}

/* What two were measured to get together holds for those who split the same bytes, too; others of
 * them are not these two. */
static void what_was_measured_together_holds_for_parts(void **state)
{
    (void)state;
    const struct resource_step step = {2, 10, NAN, NAN, NAN};
    const struct load_limit limit = {&step, 1, NULL};
    const uint16_t use[] = {0};
    const struct load_seen seen = {(uint32_t[]){1, 2}, (double[]){2, 8}, 2, &step};
    struct load_share *share = load_share_new(1, 4, 1, 3);
    assert_non_null(share);
    load_share_set_seen(share, &seen, 1);
    for (uint32_t who = 2; who <= 3; who++) {
        struct load_stream streams[4];
        for (size_t i = 0; i < 4; i++)
            streams[i] = (struct load_stream){.bytes_per_s = 10,
                                              .bytes = 20,
                                              .use = use,
                                              .use_count = 1,
                                              .kind = 1,
                                              .who = i < 2 ? 1 : who};
        load_share_run(share, &limit, streams, 4);
        assert_s(&streams[0], who == 2 ? 20 : 8);
        assert_s(&streams[1], who == 2 ? 20 : 8);
        assert_s(&streams[3], 8);
        assert_true((streams[0].seen == &seen) == (who == 2) && streams[3].seen == NULL);
    }
    load_share_free(share);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(split_bytes_take_as_long),
        cmocka_unit_test(they_take_turns),
        cmocka_unit_test(a_part_goes_at_its_own_rate),
        cmocka_unit_test(what_was_measured_together_holds_for_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
