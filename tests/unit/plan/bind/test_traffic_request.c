#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/bind/traffic_request.h"

static struct traffic ask(struct traffic_request request)
{
    struct traffic traffic = {0};
    struct berth_err err = {0};
    if (plan_traffic(&request, &traffic, &err) != BERTH_OK)
        fail_msg("%s", err.detail);
    for (size_t i = 0; i < traffic.count; i++) {
        const struct traffic_flow *flow = &traffic.flow[i];
        assert_true(flow->bytes > 0 && flow->from != flow->to && flow->from < request.tasks &&
                    flow->to < request.tasks);
        assert_true(i == 0 || flow[-1].from < flow->from ||
                    (flow[-1].from == flow->from && flow[-1].to < flow->to));
    }
    return traffic;
}

static double bytes_of(const struct traffic *traffic, int from, int to)
{
    for (size_t i = 0; i < traffic->count; i++)
        if (traffic->flow[i].from == from && traffic->flow[i].to == to)
            return traffic->flow[i].bytes;
    return 0;
}

/* "0>1 1>0 host>2 2>away", in the order of the answer. */
static void assert_flows(struct traffic_request request, const char *expected)
{
    struct traffic traffic = ask(request);
    char text[4096] = "";
    for (size_t i = 0; i < traffic.count; i++) {
        const int ends[] = {traffic.flow[i].from, traffic.flow[i].to};
        for (int e = 0; e < 2; e++) {
            char end[16];
            snprintf(end, sizeof end, "%d", ends[e]);
            strcat(text, ends[e] == TRAFFIC_HOST ? "host" : ends[e] == TRAFFIC_AWAY ? "away" : end);
            strcat(text, e == 0 ? ">" : i + 1 < traffic.count ? " " : "");
        }
    }
    assert_string_equal(text, expected);
    plan_traffic_done(&traffic);
}

static void each_pattern_is_what_it_says(void **state)
{
    (void)state;
    assert_flows((struct traffic_request){.tasks = 4, .pattern = TRAFFIC_NONE, .bytes = 0}, "");
    assert_flows((struct traffic_request){.tasks = 5, .pattern = TRAFFIC_PAIRS, .bytes = 10},
                 "0>1 1>0 2>3 3>2");
    assert_flows((struct traffic_request){.tasks = 4, .pattern = TRAFFIC_RING, .bytes = 10},
                 "0>1 1>2 2>3 3>0");
    assert_flows((struct traffic_request){.tasks = 2, .pattern = TRAFFIC_RING, .bytes = 10},
                 "0>1 1>0");
    assert_flows((struct traffic_request){.tasks = 1, .pattern = TRAFFIC_RING, .bytes = 10}, "");
    assert_flows((struct traffic_request){.tasks = 3, .pattern = TRAFFIC_ALLTOALL, .bytes = 10},
                 "0>1 0>2 1>0 1>2 2>0 2>1");
    /* 3 by 2, rows of two */
    assert_flows((struct traffic_request){.tasks = 6, .pattern = TRAFFIC_GRID2D, .bytes = 10},
                 "0>1 0>2 1>0 1>3 2>0 2>3 2>4 3>1 3>2 3>5 4>2 4>5 5>3 5>4");
    /* 2 by 2 by 2 */
    assert_flows((struct traffic_request){.tasks = 8, .pattern = TRAFFIC_GRID3D, .bytes = 10},
                 "0>1 0>2 0>4 1>0 1>3 1>5 2>0 2>3 2>6 3>1 3>2 3>7 4>0 4>5 4>6 5>1 5>4 5>7 6>2 6>4 "
                 "6>7 7>3 7>5 7>6");
    assert_flows((struct traffic_request){.tasks = 2, .host_bytes = 7},
                 "host>0 host>1 0>host 1>host");
}

static void an_allreduce_is_the_ring_algorithm(void **state)
{
    (void)state;
    struct traffic traffic =
        ask((struct traffic_request){.tasks = 4, .pattern = TRAFFIC_ALLREDUCE, .bytes = 1000});
    assert_int_equal(traffic.count, 4);
    for (int t = 0; t < 4; t++)
        assert_true(bytes_of(&traffic, t, (t + 1) % 4) == 1500);
    plan_traffic_done(&traffic);
    assert_flows((struct traffic_request){.tasks = 1, .pattern = TRAFFIC_ALLREDUCE, .bytes = 1000},
                 "");
}

static void sides_are_as_close_as_possible_the_longest_first(void **state)
{
    (void)state;
    static const int64_t two[][3] = {
        {1, 1, 1},  {2, 2, 1},  {7, 7, 1},  {12, 4, 3},
        {16, 4, 4}, {24, 6, 4}, {64, 8, 8}, {2147483647, 2147483647, 1}};
    static const int64_t three[][4] = {{1, 1, 1, 1},  {7, 7, 1, 1},  {8, 2, 2, 2},
                                       {12, 3, 2, 2}, {16, 4, 2, 2}, {24, 4, 3, 2},
                                       {60, 5, 4, 3}, {64, 4, 4, 4}, {1024, 16, 8, 8}};
    int64_t dims[3];
    for (size_t i = 0; i < sizeof two / sizeof two[0]; i++) {
        plan_traffic_dims(two[i][0], 2, dims);
        assert_int_equal(dims[0], two[i][1]);
        assert_int_equal(dims[1], two[i][2]);
    }
    for (size_t i = 0; i < sizeof three / sizeof three[0]; i++) {
        plan_traffic_dims(three[i][0], 3, dims);
        for (int d = 0; d < 3; d++)
            assert_int_equal(dims[d], three[i][1 + d]);
    }
    for (int64_t ranks = 1; ranks < 3000; ranks++)
        for (size_t count = 2; count <= 3; count++) {
            dims[2] = 1;
            plan_traffic_dims(ranks, count, dims);
            assert_true(dims[0] >= dims[1] && dims[1] >= dims[2] && dims[2] >= 1 &&
                        dims[0] * dims[1] * dims[2] == ranks);
        }
}

static void ranks_elsewhere_are_away(void **state)
{
    (void)state;
    const int64_t block[] = {4, 5, 6, 7}, mixed[] = {9, 3};
    assert_flows(
        (struct traffic_request){
            .tasks = 4, .ranks = block, .world = 16, .pattern = TRAFFIC_RING, .bytes = 10},
        "away>0 0>1 1>2 2>3 3>away");
    assert_flows(
        (struct traffic_request){
            .tasks = 4, .ranks = block, .world = 16, .pattern = TRAFFIC_PAIRS, .bytes = 10},
        "0>1 1>0 2>3 3>2");
    assert_flows(
        (struct traffic_request){
            .tasks = 2, .ranks = mixed, .world = 16, .pattern = TRAFFIC_PAIRS, .bytes = 10},
        "away>0 away>1 0>away 1>away");
    /* Not beyond the end of the job, and tasks are the first ranks when nothing says which. */
    assert_flows(
        (struct traffic_request){.tasks = 1, .world = 3, .pattern = TRAFFIC_GRID2D, .bytes = 10},
        "away>0 0>away");
    assert_flows((struct traffic_request){.tasks = 1,
                                          .ranks = (const int64_t[]){2},
                                          .world = 3,
                                          .pattern = TRAFFIC_PAIRS,
                                          .bytes = 10},
                 "");
    struct traffic traffic = ask((struct traffic_request){
        .tasks = 4, .ranks = block, .world = 16, .pattern = TRAFFIC_ALLTOALL, .bytes = 10});
    assert_int_equal(traffic.count, 4 * 3 + 8);
    assert_true(bytes_of(&traffic, 2, TRAFFIC_AWAY) == 120 &&
                bytes_of(&traffic, TRAFFIC_AWAY, 2) == 120 && bytes_of(&traffic, 2, 1) == 10);
    plan_traffic_done(&traffic);
    /* a row of 4 by 4 */
    traffic = ask((struct traffic_request){
        .tasks = 4, .ranks = block, .world = 16, .pattern = TRAFFIC_GRID2D, .bytes = 10});
    assert_true(bytes_of(&traffic, 1, TRAFFIC_AWAY) == 20 && bytes_of(&traffic, 1, 2) == 10 &&
                bytes_of(&traffic, 3, 2) == 10);
    assert_int_equal(traffic.count, 6 + 8);
    plan_traffic_done(&traffic);
}

static void exact_flows_add_to_the_pattern(void **state)
{
    (void)state;
    const struct traffic_exact exact[] = {{0, 1, 5},   {0, 1, 6}, {7, 0, 3},
                                          {7, 8, 100}, {1, 2, 0}, {2, 0, 8}};
    const int64_t ranks[] = {0, 1, 2};
    struct traffic traffic = ask((struct traffic_request){.tasks = 3,
                                                          .ranks = ranks,
                                                          .world = 9,
                                                          .pattern = TRAFFIC_PAIRS,
                                                          .bytes = 10,
                                                          .exact = exact,
                                                          .exact_count = 6});
    assert_true(bytes_of(&traffic, 0, 1) == 21 && bytes_of(&traffic, 1, 0) == 10 &&
                bytes_of(&traffic, TRAFFIC_AWAY, 0) == 3 && bytes_of(&traffic, 2, 0) == 8);
    assert_true(bytes_of(&traffic, 2, TRAFFIC_AWAY) == 10); /* its pair is rank 3 */
    assert_int_equal(traffic.count, 6);
    plan_traffic_done(&traffic);
    /* Without a pattern the job may be as large as it is. */
    const struct traffic_exact far[] = {{100, 900, 5}};
    assert_flows((struct traffic_request){.tasks = 1,
                                          .ranks = (const int64_t[]){100},
                                          .bytes = -1,
                                          .exact = far,
                                          .exact_count = 1},
                 "0>away");
}

static void what_makes_no_sense_is_named(void **state)
{
    (void)state;
    const int64_t twice[] = {1, 1}, negative[] = {0, -1}, beyond[] = {0, 8};
    const struct traffic_exact nobody[] = {{0, 2, 1}}, before[] = {{-1, 0, 1}},
                               less[] = {{0, 1, -1}}, huge[] = {{0, 1, INT64_MAX}},
                               itself[] = {{1, 0, 5}, {1, 1, 9}};
    const struct {
        struct traffic_request request;
        const char *parameter, *says;
    } cases[] = {
        {{.tasks = 0}, "tasks", "0"},
        {{.tasks = 4, .world = 3}, "world", "4 tasks"},
        {{.tasks = 4, .world = -1}, "world", "-1"},
        {{.tasks = 4, .world = INT64_MAX}, "world", "2147483647"},
        {{.tasks = 2, .ranks = twice, .world = 4}, "ranks", "twice"},
        {{.tasks = 2, .ranks = negative, .world = 4}, "ranks", "-1"},
        {{.tasks = 2, .ranks = beyond, .world = 8}, "ranks", "has 8"},
        {{.tasks = 2, .ranks = beyond, .pattern = TRAFFIC_RING, .bytes = 1}, "world", "missing"},
        {{.tasks = 2, .pattern = TRAFFIC_RING, .bytes = -1}, "bytes", "missing"},
        {{.tasks = 2, .pattern = TRAFFIC_RING, .bytes = -2}, "bytes", "-2"},
        {{.tasks = 2, .pattern = TRAFFIC_RING, .bytes = INT64_MAX}, "bytes", "1 EiB"},
        {{.tasks = 2, .host_bytes = INT64_MAX},
         "host_bytes",
         "8 EiB in one iteration; at most 1 EiB"},
        {{.tasks = 2, .bytes = 5}, "bytes", "no pattern"},
        {{.tasks = 2, .host_bytes = -5}, "host_bytes", "-5"},
        {{.tasks = 1000, .pattern = TRAFFIC_ALLTOALL, .bytes = 1}, "pattern", "999000 flows"},
        {{.tasks = 2, .exact = nobody, .exact_count = 1}, "flows[0]", "0 to 1"},
        {{.tasks = 2, .exact = before, .exact_count = 1}, "flows[0]", "rank -1"},
        {{.tasks = 2, .exact = less, .exact_count = 1}, "flows[0]", "-1"},
        {{.tasks = 2, .exact = itself, .exact_count = 2},
         "flows[1]",
         "a flow from rank 1 to itself: a rank sends nothing to itself"},
        {{.tasks = 2, .exact = huge, .exact_count = 1}, "flows[0]", "1 EiB"},
        {{.tasks = 2, .exact = less, .exact_count = TRAFFIC_FLOWS_MAX + 1}, "flows", "65536"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct berth_err err = {0};
        struct traffic traffic = {.count = 77};
        assert_int_equal(plan_traffic(&cases[i].request, &traffic, &err), BERTH_INVALID_PARAMETER);
        if (strcmp(err.arg[0].text, cases[i].parameter) != 0 ||
            strstr(err.detail, cases[i].says) == NULL)
            fail_msg("%zu: %s: %s", i, err.arg[0].text, err.detail);
        assert_int_equal(traffic.count, 77);
    }
}

static void the_largest_sizes_add_up(void **state)
{
    (void)state;
    struct traffic traffic = ask((struct traffic_request){.tasks = 2,
                                                          .world = INT32_MAX,
                                                          .pattern = TRAFFIC_ALLTOALL,
                                                          .bytes = TRAFFIC_BYTES_MAX,
                                                          .host_bytes = TRAFFIC_BYTES_MAX});
    assert_true(bytes_of(&traffic, 0, TRAFFIC_AWAY) == (INT32_MAX - 2.0) * 0x1p60 &&
                bytes_of(&traffic, 0, TRAFFIC_HOST) == 0x1p60);
    plan_traffic_done(&traffic);
    traffic = ask((struct traffic_request){.tasks = 256, .pattern = TRAFFIC_ALLTOALL, .bytes = 1});
    assert_int_equal(traffic.count, 256 * 255);
    plan_traffic_done(&traffic);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_pattern_is_what_it_says),
        cmocka_unit_test(an_allreduce_is_the_ring_algorithm),
        cmocka_unit_test(sides_are_as_close_as_possible_the_longest_first),
        cmocka_unit_test(ranks_elsewhere_are_away),
        cmocka_unit_test(exact_flows_add_to_the_pattern),
        cmocka_unit_test(what_makes_no_sense_is_named),
        cmocka_unit_test(the_largest_sizes_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
