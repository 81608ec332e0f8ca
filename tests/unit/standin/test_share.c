/* Sharing of resources among flows by the stand-in drivers: cases computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants those before. */
#include <cmocka.h>
#include <math.h>

#include "standin/share.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void rates(enum share_discipline discipline, const struct share_resource *resources,
                  size_t resource_count, struct share_flow *flows, size_t count)
{
    struct share_room room[8];
    struct share_flow *list[8];
    for (size_t i = 0; i < count; i++)
        list[i] = &flows[i];
    share_rates(discipline, resources, resource_count, room, list, count);
}

static void assert_rate(const struct share_flow *flow, double wanted)
{
    assert_true(fabs(flow->rate - wanted) < 1e-9 * wanted);
}

static struct share_flow over(double limit, unsigned rank, size_t count, const unsigned *resources)
{
    struct share_flow flow = {.limit = limit, .rank = rank, .use_count = count};
    for (size_t i = 0; i < count; i++) {
        flow.use[i].resource = resources[i];
        flow.use[i].weight = 1;
    }
    return flow;
}

/* One that has less than its part leaves the rest to the others. */
static void test_limit(void **state)
{
    (void)state;
    const struct share_resource link = {.capacity = 80};
    struct share_flow flows[] = {over(60, 0, 1, (const unsigned[]){0}),
                                 over(30, 1, 1, (const unsigned[]){0})};
    rates(SHARE_MAXMIN, &link, 1, flows, COUNT(flows));
    assert_rate(&flows[0], 50);
    assert_rate(&flows[1], 30);
}

/* Bertsekas and Gallager's kind of line: a long flow over both links, a short one on each; the
 * narrower link binds first. */
static void test_line(void **state)
{
    (void)state;
    const struct share_resource links[] = {{.capacity = 10}, {.capacity = 40}};
    struct share_flow flows[] = {over(1000, 0, 2, (const unsigned[]){0, 1}),
                                 over(1000, 1, 1, (const unsigned[]){0}),
                                 over(1000, 2, 1, (const unsigned[]){1})};
    rates(SHARE_MAXMIN, links, COUNT(links), flows, COUNT(flows));
    assert_rate(&flows[0], 5);
    assert_rate(&flows[1], 5);
    assert_rate(&flows[2], 35);
}

/* A copy within one memory passes it twice. */
static void test_weight(void **state)
{
    (void)state;
    const struct share_resource memory = {.capacity = 90};
    struct share_flow flows[] = {over(1000, 0, 1, (const unsigned[]){0}),
                                 over(1000, 1, 1, (const unsigned[]){0})};
    flows[0].use[0].weight = 2;
    rates(SHARE_MAXMIN, &memory, 1, flows, COUNT(flows));
    assert_rate(&flows[0], 30);
    assert_rate(&flows[1], 30);
}

static void test_proportional(void **state)
{
    (void)state;
    const struct share_resource link = {.capacity = 80};
    struct share_flow flows[] = {over(60, 0, 1, (const unsigned[]){0}),
                                 over(100, 1, 1, (const unsigned[]){0})};
    rates(SHARE_PROPORTIONAL, &link, 1, flows, COUNT(flows));
    /* alone they would get 60 and 80, together 140 */
    assert_rate(&flows[0], 60.0 * 80 / 140);
    assert_rate(&flows[1], 80.0 * 80 / 140);
}

static void test_unfair(void **state)
{
    (void)state;
    const struct share_resource link = {.capacity = 90};
    struct share_flow flows[] = {over(1000, 0, 1, (const unsigned[]){0}),
                                 over(1000, 1, 1, (const unsigned[]){0})};
    rates(SHARE_UNFAIR, &link, 1, flows, COUNT(flows));
    assert_rate(&flows[0], 60);
    assert_rate(&flows[1], 30);
}

/* Four H200 that write to host memory: two lose nothing, three and four do. */
static void test_steps(void **state)
{
    (void)state;
    const struct share_resource host = {
        .capacity = 110.9, .step_count = 2, .step = {{3, 157.2}, {4, 164.5}}};
    struct share_flow flows[4];
    static const double wanted[] = {55.43, 55.43, 157.2 / 3, 164.5 / 4};
    for (size_t count = 1; count <= COUNT(flows); count++) {
        for (size_t i = 0; i < count; i++)
            flows[i] = over(55.43, (unsigned)i, 1, (const unsigned[]){0});
        rates(SHARE_MAXMIN, &host, 1, flows, count);
        for (size_t i = 0; i < count; i++)
            assert_rate(&flows[i], wanted[count - 1]);
    }
    assert_true(share_capacity(&host, 2) == 110.9 && share_capacity(&host, 9) == 164.5);
}

/* Whatever the flows: none above its limit, no resource overfull, and each is held back by
 * something. */
static void test_feasible(void **state)
{
    (void)state;
    uint64_t random = 4711;
    for (int round = 0; round < 2000; round++) {
        struct share_resource resources[4];
        struct share_flow flows[6];
        for (size_t i = 0; i < COUNT(resources); i++) {
            random = random * 6364136223846793005ULL + 1442695040888963407ULL;
            resources[i] = (struct share_resource){.capacity = 1 + (double)(random >> 60)};
        }
        for (size_t i = 0; i < COUNT(flows); i++) {
            random = random * 6364136223846793005ULL + 1442695040888963407ULL;
            unsigned first = (unsigned)(random >> 62), second = (unsigned)(random >> 58) & 3;
            flows[i] = over(1 + (double)(random >> 40 & 15), (unsigned)i, first == second ? 1 : 2,
                            (const unsigned[]){first, second});
        }
        enum share_discipline discipline = round % 2 == 0 ? SHARE_MAXMIN : SHARE_UNFAIR;
        rates(discipline, resources, COUNT(resources), flows, COUNT(flows));
        double used[4] = {0};
        for (size_t i = 0; i < COUNT(flows); i++)
            for (size_t k = 0; k < flows[i].use_count; k++)
                used[flows[i].use[k].resource] += flows[i].rate;
        for (size_t i = 0; i < COUNT(flows); i++) {
            bool held = flows[i].rate > flows[i].limit * (1 - 1e-9);
            assert_true(flows[i].rate > 0 && flows[i].rate <= flows[i].limit * (1 + 1e-9));
            for (size_t k = 0; k < flows[i].use_count; k++)
                held |= used[flows[i].use[k].resource] >
                        resources[flows[i].use[k].resource].capacity * (1 - 1e-9);
            assert_true(held);
        }
        for (size_t i = 0; i < COUNT(resources); i++)
            assert_true(used[i] <= resources[i].capacity * (1 + 1e-9));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limit),    cmocka_unit_test(test_line),
        cmocka_unit_test(test_weight),   cmocka_unit_test(test_proportional),
        cmocka_unit_test(test_unfair),   cmocka_unit_test(test_steps),
        cmocka_unit_test(test_feasible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
