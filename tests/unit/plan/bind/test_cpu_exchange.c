/* Tasks without GPUs that send each other bytes: their time, their cores; and cores of one NUMA
 * node each. Most are on a node like a Zen 2 desktop: one NUMA node, two L3s of four cores. */
#include "unit/plan/bind/bind_cores.h"

static void number(struct fixture *f, enum metric metric, const char *axes, int from, int to,
                   double value)
{
    place_id a = nodes_place(f->graph, PLACE_CORE, from), b = nodes_place(f->graph, PLACE_CORE, to);
    nodes_value(f->values, metric, VALUE_MEASURED, a, b, axes, value, value * 0.99, value * 1.01);
}

/* Round trips and hand-off of every pair: fast within four cores, slow between. */
static void all_pairs(struct fixture *f, int cores)
{
    for (int a = 0; a < cores; a++)
        for (int b = 0; b < cores; b++) {
            bool near = a / 4 == b / 4;
            if (a == b)
                continue;
            number(f, METRIC_CPU_PINGPONG, "", a, b, near ? 48 : 197);
            number(f, METRIC_CPU_COPY, "", a, b, 15 * GB);
            number(f, METRIC_CPU_QUEUE, "", a, b, 14 * GB);
            number(f, METRIC_CPU_QUEUE, "side=reader", a, b, near ? 14 * GB : 10 * GB);
        }
}

static void ask(struct fixture *f, int64_t tasks, int64_t cores, int64_t host_bytes,
                const struct traffic_exact *exact, size_t count)
{
    const struct traffic_request moved = {.tasks = tasks,
                                          .bytes = -1,
                                          .host_bytes = host_bytes,
                                          .exact = exact,
                                          .exact_count = count};
    ask_moved(f, cores, &moved);
}

static int core_of(const struct fixture *f, size_t task)
{
    return cpuset_next(&f->answer.task[task].cpus, 0);
}
static bool share_l3(const struct fixture *f, size_t a, size_t b)
{
    return core_of(f, a) / 4 == core_of(f, b) / 4;
}

static void two_that_talk_share_an_l3(void **state)
{
    (void)state;
    struct fixture f = begin(1, 1, 2, 4);
    all_pairs(&f, 8);
    ask(&f, 2, 1, 0, (struct traffic_exact[]){{0, 1, MIB}}, 1);
    assert_true(share_l3(&f, 0, 1));
    assert_near(f.answer.predicted.time_ns, 24 + MIB / 14.0);
    assert_int_equal(f.answer.predicted.source, SOURCE_SIMILAR_PAIR);
    const struct reason *longest = reason_with(&f.answer.reasons, REASON_EXCHANGE_LONGEST);
    assert_true(longest != NULL && longest->number[0] == 48);
    assert_string_equal(longest->subject[1], "task 1");
    assert_string_equal(longest->subject[3], "core1");
    assert_true(reason_with(&f.answer.reasons, REASON_TASKS_BY_PEERS) != NULL);
    assert_int_equal(f.answer.evidence.count, 2);
    end(&f);
}

static void partners_far_apart_in_rank_share_an_l3(void **state)
{
    (void)state;
    struct fixture f = begin(1, 1, 2, 4);
    all_pairs(&f, 8);
    ask(&f, 8, 1, 0, (struct traffic_exact[]){{0, 7, MIB}, {1, 6, MIB}, {2, 5, MIB}, {3, 4, MIB}},
        4);
    for (size_t t = 0; t < 4; t++)
        assert_true(share_l3(&f, t, 7 - t));
    assert_near(f.answer.predicted.time_ns, 24 + MIB / 14.0);
    assert_near(f.answer.baseline.time_ns, 98.5 + MIB / 10.0);
    assert_true(isnan(f.answer.predicted.low_ns) &&
                f.answer.predicted.source == SOURCE_SIMILAR_PAIR);
    end(&f);
}

/* An even share would fill an L3 with each task: they get as many cores as let them share one. */
static void tasks_that_talk_get_the_cores_with_which_they_share_an_l3(void **state)
{
    (void)state;
    struct fixture f = begin(1, 1, 2, 4);
    all_pairs(&f, 8);
    ask(&f, 2, 0, 0, (struct traffic_exact[]){{0, 1, MIB}}, 1);
    assert_int_equal(f.answer.cores_per_task, 2);
    assert_true(share_l3(&f, 0, 1));
    const struct reason *fewer = reason_with(&f.answer.warnings, REASON_CORES_SHARE_L3);
    assert_true(fewer != NULL && fewer->number[0] == 2 && fewer->number[1] == 4);
    ask(&f, 2, 4, 0, (struct traffic_exact[]){{0, 1, MIB}}, 1);
    assert_int_equal(f.answer.cores_per_task, 4);
    assert_null(reason_with(&f.answer.warnings, REASON_CORES_SHARE_L3));
    ask(&f, 2, 0, 0, NULL, 0);
    assert_int_equal(f.answer.cores_per_task, 4);
    end(&f);
}

/* Without measurements structure puts them together, and no time is predicted. */
static void structure_decides_where_nothing_is_measured(void **state)
{
    (void)state;
    struct fixture f = begin(1, 1, 2, 4);
    ask(&f, 2, 1, 0, (struct traffic_exact[]){{0, 1, MIB}}, 1);
    assert_true(share_l3(&f, 0, 1) && isnan(f.answer.predicted.time_ns));
    assert_non_null(reason_with(&f.answer.warnings, REASON_EXCHANGE_UNKNOWN));
    end(&f);
}

/* A pair of each two L3s stands for all of them; its numbers are another pair's. */
static void one_pair_stands_for_two_l3s(void **state)
{
    (void)state;
    struct fixture f = begin(1, 1, 2, 4);
    number(&f, METRIC_CPU_PINGPONG, "", 0, 1, 48);
    number(&f, METRIC_CPU_PINGPONG, "", 4, 5, 50);
    number(&f, METRIC_CPU_PINGPONG, "", 0, 4, 197);
    number(&f, METRIC_CPU_PINGPONG, "", 4, 0, 198);
    f.allowed.cpus = (struct cpuset){0};
    for (unsigned cpu = 1; cpu < 8; cpu += 2)
        cpuset_add(&f.allowed.cpus, cpu);
    ask(&f, 2, 1, 0, (struct traffic_exact[]){{0, 1, MIB}}, 1);
    assert_true(share_l3(&f, 0, 1));
    /* at least: no rate is known */
    assert_true(f.answer.predicted.time_ns == 24 && isnan(f.answer.predicted.high_ns));
    assert_int_equal(f.answer.predicted.source, SOURCE_LOWER_BOUND);
    end(&f);
}

/* Pairs of the same two L3s are similar: the slowest one that was measured counts, whichever cores
 * the tasks have. */
static void the_slowest_pair_of_two_l3s_counts(void **state)
{
    (void)state;
    struct fixture f = begin(1, 1, 2, 4);
    number(&f, METRIC_CPU_PINGPONG, "", 0, 1, 48);
    number(&f, METRIC_CPU_COPY, "", 0, 1, 14 * GB);
    number(&f, METRIC_CPU_PINGPONG, "", 2, 3, 60);
    number(&f, METRIC_CPU_QUEUE, "", 3, 2, 7 * GB);
    ask(&f, 2, 1, 0, (struct traffic_exact[]){{0, 1, MIB}}, 1);
    assert_near(f.answer.predicted.time_ns, 30 + MIB / 7.0);
    end(&f);
}

/* Messages of MPI count where they were measured on every path that has loads and stores. */
static void messages_of_mpi_count_where_all_paths_have_them(void **state)
{
    (void)state;
    for (int known = 0; known < 2; known++) {
        struct fixture f = begin(1, 1, 2, 4);
        all_pairs(&f, 8);
        for (int a = 0; a < 8; a += 2)
            for (int b = 0; b < 8; b += 2)
                if (a != b && (known == 1 || a / 4 == b / 4)) {
                    number(&f, METRIC_MPI_LATENCY, "", a, b, a / 4 == b / 4 ? 300 : 700);
                    number(&f, METRIC_MPI_LATENCY, "bytes=512", a, b, 2000);
                    number(&f, METRIC_MPI_BANDWIDTH, "", a, b, 8 * GB);
                    number(&f, METRIC_MPI_BANDWIDTH, "direction=both", a, b, 1 * GB);
                }
        ask(&f, 2, 1, 0, (struct traffic_exact[]){{0, 1, MIB}}, 1);
        assert_true(share_l3(&f, 0, 1));
        assert_near(f.answer.predicted.time_ns, known == 1 ? 300 + MIB / 8.0 : 24 + MIB / 14.0);
        const struct reason *longest = reason_with(&f.answer.reasons, REASON_EXCHANGE_LONGEST);
        assert_true(longest != NULL && longest->number[0] == (known == 1 ? 600 : 48));
        end(&f);
    }
}

/* An order of which nothing is known is not the fastest. */
static void what_is_unknown_of_one_order_does_not_make_it_the_best(void **state)
{
    (void)state;
    struct fixture f = begin(1, 1, 2, 4);
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++)
            if (a != b)
                number(&f, METRIC_CPU_PINGPONG, "", a, b, 48);
    ask(&f, 2, 1, 0, (struct traffic_exact[]){{0, 1, MIB}}, 1);
    assert_true(share_l3(&f, 0, 1) && f.answer.predicted.time_ns == 24);
    end(&f);
}

/* Two pairs on two NUMA nodes: each pair in one L3, both memories used. One pair that streams much
 * more than it sends has two memories. */
static void memory_bandwidth_goes_before_a_shared_l3(void **state)
{
    (void)state;
    struct fixture f = begin(1, 2, 1, 4);
    all_pairs(&f, 8);
    for (int n = 0; n < 2; n++)
        for (int how = 0; how < 4; how++) {
            char axes[32];
            snprintf(axes, sizeof axes, "%s%s%s", how & 1 ? "operation=write" : "",
                     how == 3 ? ";" : "", how & 2 ? "threads=1" : "");
            place_id numa = nodes_place(f.graph, PLACE_NUMA, n);
            nodes_value(f.values, METRIC_MEMORY_BANDWIDTH, VALUE_MEASURED, numa, numa, axes,
                        20 * GB, 19.9 * GB, 20.1 * GB);
        }
    ask(&f, 4, 1, 64 * MIB, (struct traffic_exact[]){{0, 2, MIB}, {1, 3, MIB}}, 2);
    assert_true(share_l3(&f, 0, 2) && share_l3(&f, 1, 3) && !share_l3(&f, 0, 1));
    ask(&f, 2, 1, 64 * MIB, (struct traffic_exact[]){{0, 1, MIB}}, 1);
    assert_false(share_l3(&f, 0, 1));
    ask(&f, 2, 0, 64 * MIB, (struct traffic_exact[]){{0, 1, MIB}}, 1);
    assert_int_equal(f.answer.cores_per_task, 4);
    ask(&f, 2, 1, MIB / 64, (struct traffic_exact[]){{0, 1, MIB}}, 1);
    assert_true(share_l3(&f, 0, 1));
    end(&f);
}

/* NUMA nodes of 18, 18, 16 and 16 cores, as of a KNL in SNC4: 16 whole ones each instead of 17
 * across. */
static void tasks_keep_to_one_numa_node_where_a_few_cores_less_allow_it(void **state)
{
    (void)state;
    struct fixture f = begin(1, 4, 1, 18);
    for (unsigned cpu = 52; cpu < 72; cpu++)
        if (cpu == 52 || cpu == 53 || cpu >= 70)
            cpuset_remove(&f.allowed.cpus, cpu);
    ask(&f, 4, 0, 0, NULL, 0);
    assert_int_equal(f.answer.cores_per_task, 16);
    for (size_t t = 0; t < 4; t++)
        for (int cpu = cpuset_next(&f.answer.task[t].cpus, 0); cpu >= 0;
             cpu = cpuset_next(&f.answer.task[t].cpus, (unsigned)cpu + 1))
            assert_int_equal(cpu / 18, core_of(&f, t) / 18);
    const struct reason *fewer = reason_with(&f.answer.warnings, REASON_CORES_IN_ONE_NUMA);
    assert_true(fewer != NULL && fewer->number[0] == 16 && fewer->number[1] == 17);
    ask(&f, 4, 17, 0, NULL, 0);
    assert_int_equal(f.answer.cores_per_task, 17);
    ask(&f, 3, 0, 0, NULL, 0); /* 22 each: 18 are too few */
    assert_int_equal(f.answer.cores_per_task, 22);
    ask(&f, 1, 0, 0, NULL, 0);
    assert_int_equal(f.answer.cores_per_task, 68);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_that_talk_share_an_l3),
        cmocka_unit_test(partners_far_apart_in_rank_share_an_l3),
        cmocka_unit_test(tasks_that_talk_get_the_cores_with_which_they_share_an_l3),
        cmocka_unit_test(structure_decides_where_nothing_is_measured),
        cmocka_unit_test(one_pair_stands_for_two_l3s),
        cmocka_unit_test(the_slowest_pair_of_two_l3s_counts),
        cmocka_unit_test(messages_of_mpi_count_where_all_paths_have_them),
        cmocka_unit_test(what_is_unknown_of_one_order_does_not_make_it_the_best),
        cmocka_unit_test(memory_bandwidth_goes_before_a_shared_l3),
        cmocka_unit_test(tasks_keep_to_one_numa_node_where_a_few_cores_less_allow_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
