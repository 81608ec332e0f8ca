/* Times of tasks without gpus for their streamed bytes, and cases where these decide. */
#include "unit/plan/bind/bind_cores.h"

/* Two packages, each one NUMA node with two llcs of four cores. */
static struct fixture two_packages(void) { return begin(2, 1, 2, 4); }

static place_id numa_of(const struct fixture *f, int number)
{
    return nodes_place(f->graph, PLACE_NUMA, number);
}

/* Of all eight cores, and of one: what a task's two get is between. */
static void rate(struct fixture *f, int from, int to, const char *how, double all, double one)
{
    char axes[32], single[48];
    snprintf(axes, sizeof axes, "%s%s", *how != '\0' ? "operation=" : "", how);
    snprintf(single, sizeof single, "%s%sthreads=1", axes, *how != '\0' ? ";" : "");
    nodes_value(f->values, METRIC_MEMORY_BANDWIDTH, VALUE_MEASURED, numa_of(f, from),
                numa_of(f, to), axes, all * GB, all * 0.99 * GB, all * 1.01 * GB);
    nodes_value(f->values, METRIC_MEMORY_BANDWIDTH, VALUE_MEASURED, numa_of(f, from),
                numa_of(f, to), single, one * GB, one * 0.99 * GB, one * 1.01 * GB);
}

static void all_rates(struct fixture *f)
{
    for (int n = 0; n < 2; n++)
        for (int to = 0; to < 2; to++) {
            rate(f, n, to, "", n == to ? 80 : 24, n == to ? 20 : 8);
            rate(f, n, to, "write", n == to ? 40 : 12, n == to ? 10 : 4);
        }
}

static void ask(struct fixture *f, int64_t tasks, int64_t cores, int64_t host_bytes,
                enum traffic_pattern pattern)
{
    int64_t bytes = pattern != TRAFFIC_NONE ? GIB : -1;
    ask_moved(f, cores,
              &(struct traffic_request){
                  .tasks = tasks, .pattern = pattern, .bytes = bytes, .host_bytes = host_bytes});
}

/* Two tasks of four cores: one NUMA node each, 20 to 80 GB/s from one core to eight. In order both
 * are in numa0. */
static void tasks_that_are_spread_take_less_than_in_order(void **state)
{
    (void)state;
    struct fixture f = two_packages();
    all_rates(&f);
    ask(&f, 2, 4, GIB, TRAFFIC_NONE);
    double four = 20 + 60 * 3.0 / 7, write = 10 + 30 * 3.0 / 7;
    assert_near(f.answer.predicted.time_ns, GIB / four + GIB / write);
    assert_near(f.answer.baseline.time_ns, 2 * GIB / 80.0 + 2 * GIB / 40.0);
    assert_true(isnan(f.answer.predicted.low_ns) &&
                reason_with(&f.answer.warnings, REASON_STREAMS_ALONE) != NULL);
    assert_true(!isnan(f.answer.baseline.low_ns));
    assert_string_equal(f.answer.bottleneck, "");
    assert_string_equal(f.answer.baseline_bottleneck, "numa0:memory");
    const struct reason *last = reason_with(&f.answer.reasons, REASON_STREAMS_LAST);
    assert_true(last != NULL && last->number[0] == 1);
    assert_string_equal(last->subject[0], "numa0");
    assert_near(last->number[1], 2 * GB / (1 / four + 1 / write));
    assert_non_null(reason_with(&f.answer.reasons, REASON_TASKS_SPREAD));
    assert_true(f.answer.evidence.count > 0);
    ask(&f, 2, 4, 2 * GIB, TRAFFIC_NONE);
    assert_near(f.answer.predicted.time_ns, 2 * (GIB / four + GIB / write));
    end(&f);
}

/* All memory is that of one NUMA node: tasks have cores next to it, in an L3 each. */
static void cores_are_next_to_the_memory_that_is_allowed(void **state)
{
    (void)state;
    struct fixture f = two_packages();
    all_rates(&f);
    f.allowed.memory = calloc(f.graph->place_count, sizeof *f.allowed.memory);
    assert_non_null(f.allowed.memory);
    f.allowed.memory[numa_of(&f, 1)] = true;
    ask(&f, 2, 2, GIB, TRAFFIC_NONE);
    char *cpus = cpuset_list_new(&f.answer.task[1].cpus);
    assert_string_equal(cpus, "12-13");
    free(cpus);
    assert_true(f.answer.predicted.time_ns < f.answer.baseline.time_ns);
    assert_non_null(reason_with(&f.answer.reasons, REASON_TASKS_SPREAD));
    /* without traffic likewise */
    ask(&f, 2, 2, 0, TRAFFIC_NONE);
    assert_int_equal(cpuset_next(&f.answer.task[0].cpus, 0), 8);
    assert_true(isnan(f.answer.predicted.time_ns));
    end(&f);
}

/* The second memory is slow: two tasks take less time in the first. */
static void cores_in_order_are_taken_where_that_takes_less(void **state)
{
    (void)state;
    struct fixture f = two_packages();
    for (int n = 0; n < 2; n++)
        for (int to = 0; to < 2; to++) {
            bool fast = n == 0 && to == 0;
            rate(&f, n, to, "", fast ? 80 : 8, fast ? 20 : 2);
            rate(&f, n, to, "write", fast ? 40 : 4, fast ? 10 : 1);
        }
    ask(&f, 2, 2, GIB, TRAFFIC_NONE);
    char *cpus = cpuset_list_new(&f.answer.task[1].cpus);
    assert_string_equal(cpus, "2-3");
    free(cpus);
    assert_true(f.answer.predicted.time_ns > 0 &&
                f.answer.predicted.time_ns == f.answer.baseline.time_ns);
    assert_non_null(reason_with(&f.answer.reasons, REASON_TASKS_IN_ORDER));
    assert_null(reason_with(&f.answer.reasons, REASON_TASKS_SPREAD));
    end(&f);
}

static void what_tasks_send_each_other_is_not_in_it(void **state)
{
    (void)state;
    struct fixture f = two_packages();
    all_rates(&f);
    ask(&f, 2, 4, GIB, TRAFFIC_RING);
    assert_true(f.answer.predicted.low_ns == f.answer.predicted.time_ns &&
                isnan(f.answer.predicted.high_ns));
    assert_true(reason_with(&f.answer.warnings, REASON_EXCHANGE_LEFT_OUT)->number[0] == 2);
    ask(&f, 2, 4, 0, TRAFFIC_RING);
    assert_true(isnan(f.answer.predicted.time_ns) && isnan(f.answer.baseline.time_ns));
    assert_non_null(reason_with(&f.answer.warnings, REASON_EXCHANGE_UNKNOWN));
    end(&f);
}

static void where_nothing_is_known_nothing_is_predicted(void **state)
{
    (void)state;
    struct fixture f = two_packages();
    ask(&f, 2, 4, GIB, TRAFFIC_NONE);
    assert_true(isnan(f.answer.predicted.time_ns) && isnan(f.answer.baseline.time_ns));
    assert_non_null(reason_with(&f.answer.warnings, REASON_STREAMS_UNKNOWN));
    assert_int_equal(f.answer.evidence.count, 0);
    end(&f);
    /* Of one NUMA node's memory nothing is: what its tasks take nobody knows. */
    f = two_packages();
    rate(&f, 0, 0, "", 80, 20);
    rate(&f, 0, 0, "write", 40, 10);
    ask(&f, 2, 4, GIB, TRAFFIC_NONE);
    assert_true(isnan(f.answer.predicted.time_ns) && f.answer.baseline.time_ns > 0);
    end(&f);
}

/* What is published of all cores bounds what some of them take. */
static void fewer_cores_than_a_rate_is_of_take_at_least_as_long(void **state)
{
    (void)state;
    struct fixture f = two_packages();
    nodes_value(f.values, METRIC_MEMORY_BANDWIDTH, VALUE_PUBLISHED, numa_of(&f, 0), numa_of(&f, 0),
                "", 80 * GB, NAN, NAN);
    nodes_value(f.values, METRIC_MEMORY_BANDWIDTH, VALUE_PUBLISHED, numa_of(&f, 0), numa_of(&f, 0),
                "operation=write", 40 * GB, NAN, NAN);
    ask(&f, 1, 4, GIB, TRAFFIC_NONE);
    assert_near(f.answer.predicted.time_ns, GIB / 80.0 + GIB / 40.0);
    assert_true(f.answer.predicted.low_ns == f.answer.predicted.time_ns &&
                isnan(f.answer.predicted.high_ns));
    assert_near(reason_with(&f.answer.reasons, REASON_STREAMS_LAST)->number[1],
                2 * GB / (1 / 80.0 + 1 / 40.0));
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_that_are_spread_take_less_than_in_order),
        cmocka_unit_test(cores_are_next_to_the_memory_that_is_allowed),
        cmocka_unit_test(cores_in_order_are_taken_where_that_takes_less),
        cmocka_unit_test(what_tasks_send_each_other_is_not_in_it),
        cmocka_unit_test(where_nothing_is_known_nothing_is_predicted),
        cmocka_unit_test(fewer_cores_than_a_rate_is_of_take_at_least_as_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
