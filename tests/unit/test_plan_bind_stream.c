/* What tasks without gpus take for what they stream, and where that decides. */
#include "plan_nodes.h"

#include "plan_bind.h"
#include "plan_traffic.h"

#define GB  1e9
#define GIB (INT64_C(1) << 30)

/* Two packages, each one NUMA node with two llcs of four cores. */
struct fixture {
    struct graph *graph;
    struct values *values;
    struct snapshot *snap;
    place_id numa[2];
    struct allowed allowed;
    struct traffic traffic;
    struct bind_answer answer;
};

static struct fixture begin(void)
{
    struct fixture f = {.graph = nodes_cpu(&(struct shape){2, 1, 2, 4, 1, 256 * GIB}), .values = values_new()};
    assert_non_null(f.values);
    for (int n = 0; n < 2; n++)
        f.numa[n] = nodes_place(f.graph, PLACE_NUMA, n);
    f.allowed.given = true;
    plan_node_cpus(f.graph, &f.allowed.cpus);
    return f;
}

/* Of all eight cores, and of one: what a task's two get is between. */
static void rate(struct fixture *f, int from, int to, const char *how, double all, double one)
{
    char axes[32], single[48];
    snprintf(axes, sizeof axes, "%s%s", *how != '\0' ? "how=" : "", how);
    snprintf(single, sizeof single, "%s%sthreads=1", axes, *how != '\0' ? ";" : "");
    nodes_value(f->values, METRIC_MEMORY_BANDWIDTH, VALUE_MEASURED, f->numa[from], f->numa[to], axes, all * GB, all * 0.99 * GB, all * 1.01 * GB);
    nodes_value(f->values, METRIC_MEMORY_BANDWIDTH, VALUE_MEASURED, f->numa[from], f->numa[to], single, one * GB, one * 0.99 * GB, one * 1.01 * GB);
}

static void all_rates(struct fixture *f)
{
    for (int n = 0; n < 2; n++)
        for (int to = 0; to < 2; to++) {
            rate(f, n, to, "", n == to ? 80 : 24, n == to ? 20 : 8);
            rate(f, n, to, "write", n == to ? 40 : 12, n == to ? 10 : 4);
        }
}

static void ask(struct fixture *f, int64_t tasks, int64_t cores, int64_t host_bytes, enum traffic_pattern pattern)
{
    struct berth_err err = {0};
    struct traffic_request moved = {.tasks = tasks, .pattern = pattern, .bytes = pattern != TRAFFIC_NONE ? GIB : -1, .host_bytes = host_bytes};
    if (f->snap == NULL)
        f->snap = nodes_snapshot(f->graph, f->values);
    plan_traffic_done(&f->traffic);
    plan_bind_done(&f->answer);
    assert_int_equal(plan_traffic(&moved, &f->traffic, &err), BERTH_OK);
    struct bind_request request = {.tasks = tasks, .cores_per_task = cores, .traffic = &f->traffic, .allowed = &f->allowed};
    assert_int_equal(plan_bind(f->snap, &request, &f->answer, &err), BERTH_OK);
}

static void end(struct fixture *f)
{
    plan_bind_done(&f->answer);
    plan_traffic_done(&f->traffic);
    plan_allowed_done(&f->allowed);
    snapshot_unref(f->snap);
}

static bool says(const struct plan_warnings *lines, const char *part)
{
    for (size_t i = 0; i < lines->count; i++)
        if (strstr(lines->line[i], part) != NULL)
            return true;
    return false;
}

static void assert_near(double value, double expected) { assert_true(fabs(value - expected) <= 1e-9 * expected); }

/* Two tasks of four cores: one NUMA node each, 20 to 80 GB/s from one core to eight. In order both are in numa0. */
static void tasks_that_are_spread_take_less_than_in_order(void **state)
{
    (void)state;
    struct fixture f = begin();
    all_rates(&f);
    ask(&f, 2, 4, GIB, TRAFFIC_NONE);
    double four = 20 + 60 * 3.0 / 7, write = 10 + 30 * 3.0 / 7;
    assert_near(f.answer.predicted.time_ns, GIB / four + GIB / write);
    assert_near(f.answer.baseline.time_ns, 2 * GIB / 80.0 + 2 * GIB / 40.0);
    assert_true(isnan(f.answer.predicted.low_ns) && says(&f.answer.warnings, "each memory counts as alone"));
    assert_true(!isnan(f.answer.baseline.low_ns));
    assert_string_equal(f.answer.bottleneck, "");
    assert_string_equal(f.answer.baseline_bottleneck, "numa0:memory");
    assert_true(says(&f.answer.reasons, "the last to end is a task that streams memory of numa0, as nobody else does: at 30.5 GB/s"));
    assert_true(says(&f.answer.reasons, "in the launcher's own order: the last to end are 2 tasks that stream memory of numa0: 53.3 GB/s together, 30.5 GB/s one alone"));
    assert_true(says(&f.answer.reasons, "tasks go where the fewest others are"));
    assert_true(f.answer.evidence.count > 0);
    ask(&f, 2, 4, 2 * GIB, TRAFFIC_NONE);
    assert_near(f.answer.predicted.time_ns, 2 * (GIB / four + GIB / write));
    end(&f);
}

/* All memory is that of one NUMA node: cores next to it take less than cores spread out, and are the ones in order. */
static void cores_in_order_are_taken_where_that_takes_less(void **state)
{
    (void)state;
    struct fixture f = begin();
    all_rates(&f);
    f.allowed.memory = calloc(f.graph->place_count, sizeof *f.allowed.memory);
    assert_non_null(f.allowed.memory);
    f.allowed.memory[f.numa[0]] = true;
    ask(&f, 2, 2, GIB, TRAFFIC_NONE);
    char *cpus = cpuset_list_new(&f.answer.task[1].cpus);
    assert_string_equal(cpus, "2-3");
    free(cpus);
    assert_true(f.answer.predicted.time_ns > 0 && f.answer.predicted.time_ns == f.answer.baseline.time_ns);
    assert_true(says(&f.answer.reasons, "tasks have the cores in order"));
    assert_false(says(&f.answer.reasons, "tasks go where"));
    /* Nothing is moved: as ever. */
    ask(&f, 2, 2, 0, TRAFFIC_NONE);
    assert_true(isnan(f.answer.predicted.time_ns) && says(&f.answer.reasons, "tasks go where"));
    end(&f);
}

static void what_tasks_send_each_other_is_not_in_it(void **state)
{
    (void)state;
    struct fixture f = begin();
    all_rates(&f);
    ask(&f, 2, 4, GIB, TRAFFIC_RING);
    assert_true(f.answer.predicted.low_ns == f.answer.predicted.time_ns && isnan(f.answer.predicted.high_ns));
    assert_true(says(&f.answer.warnings, "what 2 transfers between tasks without gpus take is not known: it is not in the time"));
    ask(&f, 2, 4, 0, TRAFFIC_RING);
    assert_true(isnan(f.answer.predicted.time_ns) && isnan(f.answer.baseline.time_ns));
    assert_true(says(&f.answer.warnings, "nothing says what tasks without gpus take for what they send each other"));
    end(&f);
}

static void where_nothing_is_known_nothing_is_predicted(void **state)
{
    (void)state;
    struct fixture f = begin();
    ask(&f, 2, 4, GIB, TRAFFIC_NONE);
    assert_true(isnan(f.answer.predicted.time_ns) && isnan(f.answer.baseline.time_ns));
    assert_true(says(&f.answer.warnings, "nothing known says what these cores get of their memory"));
    assert_int_equal(f.answer.evidence.count, 0);
    end(&f);
    /* Of one NUMA node's memory nothing is: what its tasks take nobody knows. */
    f = begin();
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
    struct fixture f = begin();
    nodes_value(f.values, METRIC_MEMORY_BANDWIDTH, VALUE_PUBLISHED, f.numa[0], f.numa[0], "", 80 * GB, NAN, NAN);
    nodes_value(f.values, METRIC_MEMORY_BANDWIDTH, VALUE_PUBLISHED, f.numa[0], f.numa[0], "how=write", 40 * GB, NAN, NAN);
    ask(&f, 1, 4, GIB, TRAFFIC_NONE);
    assert_near(f.answer.predicted.time_ns, GIB / 80.0 + GIB / 40.0);
    assert_true(f.answer.predicted.low_ns == f.answer.predicted.time_ns && isnan(f.answer.predicted.high_ns));
    assert_true(says(&f.answer.reasons, "as nobody else does: at most 53.3 GB/s"));
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_that_are_spread_take_less_than_in_order),
        cmocka_unit_test(cores_in_order_are_taken_where_that_takes_less),
        cmocka_unit_test(what_tasks_send_each_other_is_not_in_it),
        cmocka_unit_test(where_nothing_is_known_nothing_is_predicted),
        cmocka_unit_test(fewer_cores_than_a_rate_is_of_take_at_least_as_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
