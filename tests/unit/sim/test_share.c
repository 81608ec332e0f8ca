/* Streams that share limits: against the rates that the search for limits uses
 * (daemon/cost/resource_fit.h), moment by moment, and invariants of any sharing. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cost/load_interval.h"
#include "cost/resource_share.h"
#include "sim/share.h"
#include "unit/base/random.h"

#define STREAMS 12
#define LIMITS  6

struct world {
    size_t count;
    struct load_stream stream[STREAMS];
    struct load_limit limit[LIMITS];
    struct resource_limit same[LIMITS];
    unsigned char users[LIMITS][STREAMS];
    uint16_t use[STREAMS][LIMITS];
    double alone[STREAMS];
};

/* Capacities are constant or change once with the number of users. */
static void make(struct world *w, uint64_t *seed)
{
    *w = (struct world){.count = 1 + (size_t)(random_uniform(seed) * STREAMS)};
    double shared = random_uniform(seed) < 0.5 ? 0.4 : 0.1; /* all with all, or a few with a few */
    double later = random_uniform(seed) < 0.5 ? 0 : 4; /* all at once, or one after the other */
    for (size_t i = 0; i < w->count; i++) {
        w->alone[i] = 1 + floor(random_uniform(seed) * 40);
        w->stream[i] = (struct load_stream){.bytes_per_s = w->alone[i],
                                            .bytes = floor(random_uniform(seed) * 100),
                                            .use = w->use[i],
                                            .kind = 1};
        w->stream[i].start_ns = w->stream[i].begin_ns = floor(later * random_uniform(seed)) * 1e9;
    }
    for (size_t l = 0; l < LIMITS; l++) {
        struct resource_limit *same = &w->same[l];
        *same = (struct resource_limit){.candidate = RESOURCE_NO_CANDIDATE,
                                        .users = w->users[l],
                                        .step_count = 1 + (random_uniform(seed) < 0.5)};
        same->step[0] = (struct resource_step){1 + (unsigned)(random_uniform(seed) * 3),
                                               5 + floor(random_uniform(seed) * 60), NAN, NAN, NAN};
        same->step[1] = (struct resource_step){
            same->step[0].flows + 2, same->step[0].bytes_per_s * (0.7 + random_uniform(seed)), NAN,
            NAN, NAN};
        w->limit[l] = (struct load_limit){.step = same->step, .step_count = same->step_count};
        for (size_t i = 0; i < w->count; i++)
            if (random_uniform(seed) < shared) {
                w->users[l][i] = 1;
                w->use[i][w->stream[i].use_count++] = (uint16_t)l;
            }
    }
}

/* From end to end, by the other code. */
static void reference(const struct world *w, double *ret_end_s)
{
    double left[STREAMS], now_s = 0;
    for (size_t i = 0; i < w->count; i++) {
        left[i] = w->stream[i].bytes;
        ret_end_s[i] = w->stream[i].begin_ns / 1e9; /* of one without bytes */
    }
    for (;;) {
        size_t active[STREAMS], count = 0;
        double rate[STREAMS], next_s = INFINITY;
        for (size_t i = 0; i < w->count; i++) {
            double begin_s = w->stream[i].begin_ns / 1e9;
            if (left[i] > 1e-9 && begin_s > now_s + 1e-9)
                next_s = fmin(next_s, begin_s - now_s);
            else if (left[i] > 1e-9)
                active[count++] = i;
        }
        if (count == 0 && isinf(next_s))
            return;
        resource_share(w->alone, w->same, LIMITS, active, count, rate);
        for (size_t i = 0; i < count; i++)
            next_s = fmin(next_s, left[active[i]] / rate[i]);
        now_s += next_s;
        for (size_t i = 0; i < count; i++) {
            left[active[i]] -= rate[i] * next_s;
            if (!(left[active[i]] > 1e-9))
                ret_end_s[active[i]] = now_s;
        }
    }
}

static void two_ways_to_the_same_times(void **state)
{
    (void)state;
    uint64_t seed = 1;
    struct load_share *share = load_share_new(LIMITS, STREAMS, LIMITS, 0);
    assert_non_null(share);
    for (int trial = 0; trial < 5000; trial++) {
        struct world w;
        double end_s[STREAMS], last_ns = 0;
        make(&w, &seed);
        reference(&w, end_s);
        load_share_run(share, w.limit, w.stream, w.count);
        for (size_t i = 0; i < w.count; i++) {
            if (!(fabs(w.stream[i].end_ns - end_s[i] * 1e9) <= 1e-6 * end_s[i] * 1e9 + 1))
                fail_msg("trial %d: %.6g is not %.6g", trial, w.stream[i].end_ns, end_s[i] * 1e9);
            assert_true(w.stream[i].end_ns >= w.stream[i].bytes / w.alone[i] * 1e9 * (1 - 1e-9));
            last_ns = fmax(last_ns, w.stream[i].end_ns);
        }
        assert_true(load_share_least_ns(share, w.limit, w.stream, w.count) <= last_ns * (1 + 1e-9));
    }
    load_share_free(share);
}

/* To the last bit: a step that is as long by two ways of copying is not told apart by what goes on
 * elsewhere. */
static void streams_elsewhere_change_nothing(void **state)
{
    (void)state;
    uint64_t seed = 3;
    struct load_share *share = load_share_new(2 * LIMITS, 2 * STREAMS, LIMITS, 0);
    assert_non_null(share);
    for (int trial = 0; trial < 1000; trial++) {
        struct world w, other;
        struct load_stream both[2 * STREAMS];
        struct load_limit limit[2 * LIMITS];
        make(&w, &seed);
        make(&other, &seed);
        for (size_t i = 0; i < LIMITS; i++) {
            limit[2 * i] = w.limit[i];
            limit[2 * i + 1] = other.limit[i];
        }
        for (size_t i = 0; i < w.count; i++)
            for (size_t u = 0; u < w.stream[i].use_count; u++)
                w.use[i][u] = (uint16_t)(2 * w.use[i][u]);
        for (size_t i = 0; i < other.count; i++) {
            for (size_t u = 0; u < other.stream[i].use_count; u++)
                other.use[i][u] = (uint16_t)(2 * other.use[i][u] + 1);
            both[i] = other.stream[i];
        }
        for (size_t i = 0; i < w.count; i++)
            both[other.count + i] = w.stream[i];
        load_share_run(share, limit, w.stream, w.count);
        load_share_run(share, limit, both, other.count + w.count);
        for (size_t i = 0; i < w.count; i++)
            assert_true(both[other.count + i].end_ns == w.stream[i].end_ns &&
                        both[other.count + i].shared == w.stream[i].shared);
    }
    load_share_free(share);
}

/* Streams of a kind that was measured apart are limited together with others, or where there are
 * more than two of it. */
static void a_kind_apart_is_limited_where_more_are_than_were_measured(void **state)
{
    (void)state;
    const struct resource_step step = {1, 10, NAN, NAN, NAN};
    const unsigned apart[] = {2, 0};
    const struct load_limit limit = {&step, 1, apart};
    const uint16_t use[] = {0};
    struct load_share *share = load_share_new(1, 3, 1, 0);
    assert_non_null(share);
    for (unsigned kind = 1; kind <= 2; kind++) {
        struct load_stream streams[] = {
            {.bytes_per_s = 10, .bytes = 100, .use = use, .use_count = 1, .kind = 1},
            {.bytes_per_s = 10, .bytes = 100, .use = use, .use_count = 1, .kind = kind}};
        load_share_run(share, &limit, streams, 2);
        assert_true(fabs(streams[0].end_ns / 1e9 - (kind == 1 ? 10 : 20)) < 1e-6);
        assert_int_equal(streams[1].shared, kind == 1 ? LOAD_NO_LIMIT : 0);
    }
    /* Three share 10 until one has ended; the two that are left have 10 each. */
    struct load_stream streams[3];
    for (int i = 0; i < 3; i++)
        streams[i] = (struct load_stream){
            .bytes_per_s = 10, .bytes = i == 0 ? 10 : 30, .use = use, .use_count = 1, .kind = 1};
    assert_true(fabs(load_share_least_ns(share, &limit, streams, 3) / 1e9 - 70.0 / 20) < 1e-6);
    load_share_run(share, &limit, streams, 3);
    assert_true(fabs(streams[0].end_ns / 1e9 - 3) < 1e-6 &&
                fabs(streams[2].end_ns / 1e9 - 5) < 1e-6);
    assert_int_equal(streams[0].shared, 0);
    load_share_free(share);
}

/* Thousands are not looked at one end after the other: the last one ends a little late, never
 * early, and soon is known. */
static void many_streams_end_about_when_they_should(void **state)
{
    (void)state;
    enum { COUNT = 4000 };
    static struct load_stream streams[COUNT];
    const struct resource_step step = {1, 100, NAN, NAN, NAN};
    const struct load_limit limit = {&step, 1, NULL};
    const uint16_t use[] = {0};
    struct load_share *share = load_share_new(1, COUNT, 1, 0);
    uint64_t seed = 7;
    double bytes = 0, early = 0;
    assert_non_null(share);
    for (size_t i = 0; i < COUNT; i++) {
        streams[i] = (struct load_stream){.bytes_per_s = 10,
                                          .bytes = 1 + floor(random_uniform(&seed) * 1000),
                                          .use = use,
                                          .use_count = 1,
                                          .kind = 1};
        bytes += streams[i].bytes;
    }
    size_t looked = load_share_run(share, &limit, streams, COUNT);
    double last_s = 0;
    for (size_t i = 0; i < COUNT; i++)
        last_s = fmax(last_s, streams[i].end_ns / 1e9);
    for (size_t i = 0; i < COUNT; i++)
        early = fmax(early, streams[i].bytes - streams[i].end_ns / 1e9 * 10);
    assert_true(last_s >= bytes / 100 * (1 - 1e-9) && last_s < bytes / 100 * 1.02);
    assert_true(early <= 0 && looked < 100 * COUNT);
    load_share_free(share);
}

/* One stream's interval is its own; the last of many is later than any, by chance; what has none
 * takes all of it away. */
static void the_last_of_many_is_later(void **state)
{
    (void)state;
    struct prediction ends[8];
    for (int i = 0; i < 8; i++)
        ends[i] = (struct prediction){100, 98, 102};
    struct prediction one = load_interval_last(ends, 1), all = load_interval_last(ends, 8);
    assert_true(one.time_ns == 100 && one.low_ns == 98 && one.high_ns == 102);
    assert_true(all.time_ns == 100 && all.low_ns == 98 && all.high_ns > 102.2 && all.high_ns < 103);
    ends[3] = (struct prediction){10, 9, 11};
    assert_true(load_interval_last(ends, 4).high_ns <= load_interval_last(ends, 5).high_ns);
    ends[7] = (struct prediction){50, NAN, NAN};
    assert_true(isnan(load_interval_last(ends, 8).low_ns) &&
                load_interval_last(ends, 8).time_ns == 100);
    ends[7] = (struct prediction){0, 0, 0};
    assert_false(isnan(load_interval_last(ends, 8).high_ns));
    assert_true(load_interval_last(ends, 0).time_ns == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_ways_to_the_same_times),
        cmocka_unit_test(streams_elsewhere_change_nothing),
        cmocka_unit_test(many_streams_end_about_when_they_should),
        cmocka_unit_test(a_kind_apart_is_limited_where_more_are_than_were_measured),
        cmocka_unit_test(the_last_of_many_is_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
