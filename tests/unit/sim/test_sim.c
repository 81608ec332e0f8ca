/* The simulator: rates against the definition of max-min fairness, ends against a slow simulation
 * that is written apart, and properties of both. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/sim/world.h"

#define NEAR 1e-6

static bool is_near(double a, double b) { return fabs(a - b) <= NEAR * fmax(1, fabs(b)); }

static struct sim *make_sim(size_t flows)
{
    struct sim *sim = sim_new(flows, LIMITS, FLOWS);
    assert_non_null(sim);
    return sim;
}

static double sum_of_users(const struct world *w, const double *rate, size_t l, unsigned *ret_users)
{
    double sum = 0;
    *ret_users = 0;
    for (size_t i = 0; i < w->count; i++) {
        sum += world_uses(w, i, l) ? rate[i] : 0;
        *ret_users += world_uses(w, i, l);
    }
    return sum;
}

/* A limit is a flow's bottleneck where it is full and no user of it gets more. */
static bool is_bottleneck(const struct world *w, const double *rate, size_t l, size_t flow)
{
    unsigned users;
    double sum = sum_of_users(w, rate, l, &users);
    if (!is_near(sum, world_capacity(w, l, users)))
        return false;
    for (size_t i = 0; i < w->count; i++)
        if (world_uses(w, i, l) && rate[i] > rate[flow] * (1 + NEAR))
            return false;
    return true;
}

/* Bertsekas and Gallager: rates are max-min fair exactly if they are feasible and each flow has a
 * bottleneck, its own rate being one. */
static void rates_are_max_min_fair(void **state)
{
    (void)state;
    uint64_t seed = 1;
    struct sim *sim = make_sim(FLOWS);
    for (int trial = 0; trial < 20000; trial++) {
        struct world w;
        double rate[FLOWS];
        world_make(&w, &(struct world_shape){.has_tables = trial % 2}, &seed);
        sim_rates(sim, w.limit, w.flow, w.count, rate);
        for (size_t l = 0; l < LIMITS; l++) {
            unsigned users;
            double sum = sum_of_users(&w, rate, l, &users);
            assert_true(sum <= world_capacity(&w, l, users) * (1 + NEAR));
        }
        for (size_t i = 0; i < w.count; i++) {
            uint16_t by = w.flow[i].slowed_by;
            assert_true(rate[i] > 0 && rate[i] <= w.flow[i].bytes_per_s * (1 + NEAR));
            if (by == SIM_NO_LIMIT)
                assert_true(rate[i] == w.flow[i].bytes_per_s);
            else if (!world_uses(&w, i, by) || !is_bottleneck(&w, rate, by, i))
                fail_msg("trial %d: limit %u does not slow flow %zu", trial, by, i);
        }
    }
    sim_free(sim);
}

/* ---- a slow simulation ---- */

/* As much as the flow's engine gives it, beside the others that move. */
static double engine_rate(const struct world *w, const bool *moves, size_t i)
{
    double all = w->flow[i].bytes_per_s, parts = 0;
    for (size_t k = 0; k < w->count; k++)
        if (w->flow[k].bytes > 0 &&
            (k == i || (w->flow[i].engine != 0 && w->flow[k].engine == w->flow[i].engine))) {
            all = fmax(all, fmax(w->flow[k].bytes_per_s, w->flow[k].engine_bytes_per_s));
            parts += moves[k];
        }
    return fmin(w->flow[i].bytes_per_s, all / parts);
}

/* All flows rise by a small part of what is missing until they, or a limit, are full. */
static void slow_rates(const struct world *w, const bool *moves, double *rate)
{
    bool grows[FLOWS];
    unsigned users[LIMITS] = {0};
    size_t growing = 0;
    for (size_t i = 0; i < w->count; i++) {
        rate[i] = 0;
        growing += grows[i] = moves[i];
        for (size_t l = 0; l < LIMITS; l++)
            users[l] += moves[i] && world_uses(w, i, l);
    }
    while (growing > 0) {
        double rise = INFINITY;
        for (size_t i = 0; i < w->count; i++)
            if (grows[i])
                rise = fmin(rise, engine_rate(w, moves, i) - rate[i]);
        double room[LIMITS];
        for (size_t l = 0; l < LIMITS; l++) {
            double sum = 0;
            size_t risers = 0;
            for (size_t i = 0; i < w->count; i++) {
                sum += world_uses(w, i, l) ? rate[i] : 0;
                risers += grows[i] && world_uses(w, i, l);
            }
            room[l] = world_capacity(w, l, users[l]) - sum;
            rise = risers > 0 ? fmin(rise, room[l] / (double)risers) : rise;
        }
        for (size_t i = 0; i < w->count; i++)
            rate[i] += grows[i] ? rise : 0;
        for (size_t i = 0; i < w->count; i++) {
            bool is_full = rate[i] >= engine_rate(w, moves, i) - 1e-9;
            for (size_t l = 0; l < LIMITS; l++) {
                double sum = 0;
                for (size_t k = 0; k < w->count; k++)
                    sum += world_uses(w, k, l) ? rate[k] : 0;
                is_full = is_full ||
                          (world_uses(w, i, l) && sum >= world_capacity(w, l, users[l]) - 1e-9);
            }
            growing -= grows[i] && is_full;
            grows[i] = grows[i] && !is_full;
        }
    }
}

static void slow_run(const struct world *w, double *ret_end_s)
{
    double left[FLOWS], now_s = 0, rate[FLOWS];
    bool is_left = true;
    for (size_t i = 0; i < w->count; i++) {
        left[i] = w->flow[i].bytes;
        ret_end_s[i] = (w->flow[i].begin_ns + w->flow[i].start_ns) / 1e9;
    }
    while (is_left) {
        bool moves[FLOWS];
        double step_s = INFINITY;
        for (size_t i = 0; i < w->count; i++) {
            double wait_s = w->flow[i].begin_ns / 1e9 - now_s;
            moves[i] = left[i] > 1e-9 && wait_s <= 1e-9;
            if (left[i] > 1e-9 && wait_s > 1e-9)
                step_s = fmin(step_s, wait_s);
        }
        slow_rates(w, moves, rate);
        for (size_t i = 0; i < w->count; i++)
            if (moves[i])
                step_s = fmin(step_s, left[i] / rate[i]);
        is_left = false;
        now_s += step_s;
        for (size_t i = 0; i < w->count; i++) {
            left[i] -= moves[i] ? rate[i] * step_s : 0;
            if (moves[i] && left[i] <= 1e-9)
                ret_end_s[i] = now_s + w->flow[i].start_ns / 1e9;
            is_left = is_left || left[i] > 1e-9;
        }
    }
}

static void ends_are_those_of_a_slow_simulation(void **state)
{
    (void)state;
    uint64_t seed = 2;
    struct sim *sim = make_sim(FLOWS);
    for (int trial = 0; trial < 5000; trial++) {
        struct world w;
        double end_s[FLOWS], last_s = 0;
        world_make(&w,
                   &(struct world_shape){.has_tables = trial % 2 == 0,
                                         .has_engines = trial % 3 == 0,
                                         .begins_later = trial % 5 < 3},
                   &seed);
        slow_run(&w, end_s);
        double all_ns = sim_run(sim, w.limit, w.flow, w.count);
        for (size_t i = 0; i < w.count; i++) {
            if (!is_near(w.flow[i].end_ns / 1e9, end_s[i]))
                fail_msg("trial %d, flow %zu: %.9g s is not %.9g", trial, i, w.flow[i].end_ns / 1e9,
                         end_s[i]);
            last_s = fmax(last_s, end_s[i]);
        }
        assert_true(is_near(all_ns / 1e9, last_s));
    }
    sim_free(sim);
}

/* ---- properties ---- */

static double run_all(struct sim *sim, const struct world *w, struct sim_flow *flows, size_t count)
{
    return sim_run(sim, w->limit, flows, count);
}

/* Of flows that begin together through limits of constant capacity. */
static void order_and_scale_do_not_matter(void **state)
{
    (void)state;
    uint64_t seed = 3;
    struct sim *sim = make_sim(FLOWS);
    for (int trial = 0; trial < 2000; trial++) {
        struct world w, other;
        world_make(&w, &(struct world_shape){.has_tables = true, .begins_later = true}, &seed);
        other = w;
        for (size_t i = 0; i < w.count; i++) {
            other.flow[i] = w.flow[w.count - 1 - i];
            other.flow[i].bytes *= 2;
            other.flow[i].begin_ns *= 2;
            other.flow[i].start_ns *= 2;
        }
        assert_true(is_near(2 * run_all(sim, &w, w.flow, w.count),
                            run_all(sim, &other, other.flow, other.count)));
        for (size_t i = 0; i < w.count; i++)
            assert_true(is_near(2 * w.flow[i].end_ns, other.flow[w.count - 1 - i].end_ns));
    }
    sim_free(sim);
}

/* One limit: whatever the flows are, more of it is never slower. */
static void a_wider_limit_is_never_slower(void **state)
{
    (void)state;
    uint64_t seed = 5;
    struct sim *sim = make_sim(FLOWS);
    for (int trial = 0; trial < 5000; trial++) {
        struct world w;
        world_make(&w, &(struct world_shape){.begins_later = true}, &seed);
        for (size_t i = 0; i < w.count; i++)
            w.flow[i].limit_count = w.flow[i].limit_count > 0;
        for (size_t i = 0; i < w.count; i++)
            w.use[i][0] = 0;
        double before_ns = sim_run(sim, w.limit, w.flow, w.count);
        w.step[0][0].bytes_per_s *= 1 + random_uniform(&seed);
        assert_true(sim_run(sim, w.limit, w.flow, w.count) <= before_ns * (1 + NEAR));
    }
    sim_free(sim);
}

/* Several limits: a wider one lets a rival go faster and finish early, or take more of what a third
 * needs. Max-min fair sharing does that; searches may not take it for impossible. Flow a uses x, b
 * uses x and y, c uses y alone and has the most bytes. With x = 2, b gets 1 and c 9; with x = 20, b
 * and c get 5 each until b has ended. */
static void a_wider_limit_among_several_may_be_slower(void **state)
{
    (void)state;
    struct sim *sim = make_sim(3);
    static const uint16_t both[] = {0, 1};
    double last_s[2];
    for (int is_wide = 0; is_wide < 2; is_wide++) {
        const struct sim_step x = {1, is_wide ? 20 : 2}, y = {1, 10};
        const struct sim_limit limits[] = {{.step = &x, .step_count = 1},
                                           {.step = &y, .step_count = 1}};
        struct sim_flow flows[] = {
            {.bytes = 10, .bytes_per_s = 10, .limit = both, .limit_count = 1},
            {.bytes = 10, .bytes_per_s = 10, .limit = both, .limit_count = 2},
            {.bytes = 90, .bytes_per_s = 9, .limit = both + 1, .limit_count = 1}};
        last_s[is_wide] = sim_run(sim, limits, flows, 3) / 1e9;
    }
    assert_true(last_s[1] > last_s[0] * 1.05);
    sim_free(sim);
}

/* While flows through one limit are left that could fill it, it is full. */
static void a_limit_is_busy_until_the_end(void **state)
{
    (void)state;
    struct sim *sim = make_sim(FLOWS);
    const struct sim_step step = {1, 10};
    const struct sim_limit limit = {.step = &step, .step_count = 1};
    static const uint16_t use[] = {0};
    struct sim_flow flows[FLOWS];
    double bytes = 0;
    for (size_t i = 0; i < FLOWS; i++) {
        flows[i] = (struct sim_flow){
            .bytes = 10.0 * (double)(i + 1), .bytes_per_s = 10, .limit = use, .limit_count = 1};
        bytes += flows[i].bytes;
    }
    assert_true(is_near(sim_run(sim, &limit, flows, FLOWS) / 1e9, bytes / 10));
    assert_true(is_near(flows[0].end_ns / 1e9, 10.0 * FLOWS / 10));
    assert_int_equal(flows[0].slowed_by, 0);
    sim_free(sim);
}

/* Two flows have even parts of their engine until one ends; the third has another engine. */
static void flows_of_an_engine_share_its_rate(void **state)
{
    (void)state;
    struct sim *sim = make_sim(3);
    struct sim_flow flows[] = {
        {.bytes = 12, .bytes_per_s = 10, .engine = 2, .engine_bytes_per_s = 12},
        {.bytes = 32, .bytes_per_s = 10, .engine = 2},
        {.bytes = 10, .bytes_per_s = 10, .engine = 3, .engine_bytes_per_s = 2}};
    assert_true(is_near(sim_run(sim, NULL, flows, 3) / 1e9, 4));
    assert_true(is_near(flows[0].end_ns / 1e9, 2) && is_near(flows[2].end_ns / 1e9, 1));
    sim_free(sim);
}

/* Thousands are not followed one end after the other: late by little, never early. */
static void many_flows_end_about_when_they_should(void **state)
{
    (void)state;
    enum { COUNT = 4000 };
    static struct sim_flow flows[COUNT];
    struct sim *sim = make_sim(COUNT);
    const struct sim_step step = {1, 100};
    const struct sim_limit limit = {.step = &step, .step_count = 1};
    static const uint16_t use[] = {0};
    uint64_t seed = 7;
    double bytes = 0;
    for (size_t i = 0; i < COUNT; i++) {
        flows[i] = (struct sim_flow){.bytes = 1 + random_below(&seed, 1000),
                                     .bytes_per_s = 10,
                                     .limit = use,
                                     .limit_count = 1};
        bytes += flows[i].bytes;
    }
    double last_s = sim_run(sim, &limit, flows, COUNT) / 1e9;
    assert_true(last_s >= bytes / 100 * (1 - NEAR) && last_s < bytes / 100 * 1.02);
    for (size_t i = 0; i < COUNT; i++)
        assert_true(flows[i].end_ns / 1e9 >= flows[i].bytes / 10);
    sim_free(sim);
}

/* A planner moves begins to the early end of their intervals, and some numbers are unknown. */
static void a_run_ends_whenever_flows_begin(void **state)
{
    (void)state;
    static const double begins[] = {-1000, -1e-9, 0, 500, NAN};
    struct sim_step step = {.bytes_per_s = 10};
    struct sim_limit limit = {.step = &step, .step_count = 1};
    static const uint16_t use[] = {0};
    struct sim *sim = make_sim(2);
    alarm(20);
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        for (int is_rate = 0; is_rate < 2; is_rate++) {
            struct sim_flow flows[2] = {
                {.bytes = 1000,
                 .bytes_per_s = is_rate ? NAN : 10,
                 .begin_ns = begins[i],
                 .limit = use,
                 .limit_count = 1},
                {.bytes = 1000, .bytes_per_s = 10, .limit = use, .limit_count = 1}};
            double last_ns = sim_run(sim, &limit, flows, 2);
            if (!isnan(begins[i]) && is_rate == 0)
                assert_true(is_near(last_ns, 200e9 + fmin(begins[i], 0)));
        }
    alarm(0);
    sim_free(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_max_min_fair),
        cmocka_unit_test(ends_are_those_of_a_slow_simulation),
        cmocka_unit_test(order_and_scale_do_not_matter),
        cmocka_unit_test(a_wider_limit_is_never_slower),
        cmocka_unit_test(a_wider_limit_among_several_may_be_slower),
        cmocka_unit_test(a_limit_is_busy_until_the_end),
        cmocka_unit_test(flows_of_an_engine_share_its_rate),
        cmocka_unit_test(many_flows_end_about_when_they_should),
        cmocka_unit_test(a_run_ends_whenever_flows_begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
