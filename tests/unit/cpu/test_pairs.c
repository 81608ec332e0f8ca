/* Measuring between two cores of this machine: correct results, regardless of speed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "cpu/copy.h"
#include "cpu/pairs.h"
#include "cpu/pingpong.h"
#include "cpu/queue.h"
#include "cpu/topology.h"
#include "cpu/wait_limit.h"
#include "cpu/workers.h"
#include "cpu_machine.h"

/* Time for a ping-pong, which ends much earlier when its two threads run at the same time. On a
 * loaded machine they seldom do. */
#define WAIT_LIMIT_NS 5000000000

/* Two cores of this machine, or false where there is one. */
static bool two_cores(int ret_pus[2])
{
    struct cpu_topology topology;
    topology_here(&topology);
    bool two = topology.core_count > 1;
    ret_pus[0] = topology.cores[0].pu;
    ret_pus[1] = two ? topology.cores[1].pu : -1;
    cpu_topology_done(&topology);
    return two;
}

static void play(struct cpu_workers *workers, const struct cpu_pair_run *pair_runs, unsigned count)
{
    bool overrun;
    struct probe_why why = {0};
    if (!cpu_pair_runs(workers, pair_runs, count, 20 * WAIT_LIMIT_NS, &overrun, &why))
        fail_msg("%s", why.text);
}

static void assert_sound(const struct probe_summary *summary)
{
    assert_true(summary->n >= 6 && summary->n <= 25 && summary->low > 0 &&
                summary->low <= summary->value && summary->value <= summary->high);
}

static void pingpong_plays(void **state)
{
    (void)state;
    int pus[2];
    if (!two_cores(pus))
        skip();
    struct cpu_workers *workers = cpu_workers_new();
    struct probe_why why = {0};
    struct cpu_pingpong *pingpong = cpu_pingpong_new(&why);
    struct probe_summary summary;
    struct cpu_pair_run pair_run = {
        .pus = {pus[0], pus[1]}, .run_side = cpu_pingpong_run_side, .state = pingpong};
    for (int cas = 0; cas < 2; cas++) {
        cpu_pingpong_begin(pingpong, cas, WAIT_LIMIT_NS, 10 * WAIT_LIMIT_NS);
        play(workers, &pair_run, 1);
        if (!cpu_pingpong_end(pingpong, &summary, &why))
            fail_msg("%s", why.text);
        assert_sound(&summary);
        assert_true(summary.low > 1);
    }
    /* Both on one CPU never run at the same time: that is said, not waited for. */
    int64_t start = probe_clock_ns();
    pair_run.pus[1] = pus[0];
    cpu_pingpong_begin(pingpong, false, 100000000, 1000000000);
    play(workers, &pair_run, 1);
    assert_false(cpu_pingpong_end(pingpong, &summary, &why));
    assert_non_null(strstr(why.text, "same time"));
    assert_true(probe_clock_ns() - start < 20000000000);
    cpu_pingpong_free(pingpong);
    cpu_workers_free(workers);
}

/* Two pair runs side by side end each for itself; here they share the CPUs, so either may be too
 * slow, and then says so. */
static void matches_side_by_side(void **state)
{
    (void)state;
    int pus[2];
    if (!two_cores(pus))
        skip();
    struct cpu_workers *workers = cpu_workers_new();
    struct cpu_pair_run pair_runs[2];
    struct cpu_pingpong *states[2];
    for (int i = 0; i < 2; i++) {
        states[i] = cpu_pingpong_new(NULL);
        pair_runs[i] = (struct cpu_pair_run){
            .pus = {pus[i], pus[1 - i]}, .run_side = cpu_pingpong_run_side, .state = states[i]};
        cpu_pingpong_begin(states[i], i, 200000000, 2000000000);
    }
    play(workers, pair_runs, 2);
    for (int i = 0; i < 2; i++) {
        struct probe_summary summary;
        struct probe_why why = {0};
        if (cpu_pingpong_end(states[i], &summary, &why))
            assert_sound(&summary);
        else
            assert_non_null(strstr(why.text, "same time"));
        cpu_pingpong_free(states[i]);
    }
    cpu_workers_free(workers);
}

static void copy_sizes(void **state)
{
    (void)state;
    int64_t bytes[CPU_COPY_SIZES_MAX];
    assert_int_equal(cpu_copy_sizes(-1, bytes), 6); /* nothing known */
    assert_int_equal(bytes[0], 4096);
    assert_int_equal(bytes[4], 1 << 20);
    assert_int_equal(bytes[5], 4 << 20);
    assert_int_equal(cpu_copy_sizes(2 << 20, bytes), 6);
    assert_int_equal(bytes[5], 4 << 20);
    unsigned count = cpu_copy_sizes(300 << 20, bytes); /* twice 300 MiB */
    assert_int_equal(bytes[count - 1], 600 << 20);
    for (unsigned i = 1; i < count; i++)
        assert_true(bytes[i] > bytes[i - 1] && bytes[i] % 4096 == 0);
    count = cpu_copy_sizes(INT64_C(1) << 40, bytes); /* a lie does not overflow the list */
    assert_true(count <= CPU_COPY_SIZES_MAX);
}

static void copies_arrive(void **state)
{
    (void)state;
    enum { MIB = 1 << 20 };
    int pus[2];
    if (!two_cores(pus))
        skip();
    struct cpu_workers *workers = cpu_workers_new();
    struct cpu_copy *copy = cpu_copy_new();
    char *source = aligned_alloc(4096, MIB), *target = aligned_alloc(4096, MIB + CPU_COPY_ROOM);
    static const int64_t bytes[] = {4096, 65536, MIB};
    struct cpu_copy_plan plan = {source, target, bytes, 3, 200000000, 1};
    struct probe_summary times[CPU_COPY_SIZES_MAX];
    struct probe_why why = {0};
    struct cpu_pair_run pair_run = {
        .pus = {pus[0], pus[1]}, .run_side = cpu_copy_run_side, .state = copy};
    memset(source, 0x11, MIB);
    memset(target, 0x22, MIB + CPU_COPY_ROOM);
    cpu_copy_begin(copy, &plan);
    play(workers, &pair_run, 1);
    if (!cpu_copy_end(copy, times, &why))
        assert_non_null(strstr(why.text, "same time"));
    else
        for (int i = 0; i < 3; i++)
            assert_sound(&times[i]);
    size_t shift = 0; /* where the copy lies in its room */
    while (shift < CPU_COPY_ROOM && memcmp(target + shift, source, MIB) != 0)
        shift += 512;
    assert_true(shift < CPU_COPY_ROOM);
    for (size_t i = 0; i < shift; i++)
        assert_int_equal(target[i], 0x22); /* not one byte around it */
    for (size_t i = shift + MIB; i < MIB + CPU_COPY_ROOM; i++)
        assert_int_equal(target[i], 0x22);
    free(source);
    free(target);
    cpu_copy_free(copy);
    cpu_workers_free(workers);
}

static void queue_hands_over(void **state)
{
    (void)state;
    int pus[2];
    if (!two_cores(pus))
        skip();
    struct cpu_workers *workers = cpu_workers_new();
    struct cpu_queue *queue = cpu_queue_new();
    char *ring = aligned_alloc(4096, CPU_QUEUE_BYTES);
    memset(ring, 0xff, CPU_QUEUE_BYTES); /* whatever was there is no flag */
    struct probe_summary writer, reader;
    struct probe_why why = {0};
    struct cpu_pair_run pair_run = {
        .pus = {pus[0], pus[1]}, .run_side = cpu_queue_run_side, .state = queue};
    for (int again = 0; again < 2; again++) {
        cpu_queue_begin(queue, ring, 200000000);
        play(workers, &pair_run, 1);
        if (!cpu_queue_end(queue, &writer, &reader, &why)) {
            assert_non_null(strstr(why.text, "same time"));
            continue;
        }
        assert_sound(&writer);
        assert_sound(&reader);
        /* Nothing arrives before it was sent, however late the reader comes. */
        assert_true(reader.value <= writer.value * 1.02);
    }
    /* Each chunk's payload begins with the number of the pass that its flag names. */
    uint64_t words[2], first;
    memcpy(&first, ring, sizeof first);
    assert_in_range(first, 6, 1000);
    for (size_t at = 0; at < CPU_QUEUE_BYTES; at += 512) {
        memcpy(words, ring + at, sizeof words);
        assert_int_equal(words[0], first);
        assert_int_equal(words[1], first);
    }
    free(ring);
    cpu_queue_free(queue);
    cpu_workers_free(workers);
}

/* Apart by more than the limit, and with intervals that do not meet: one alone is no difference. */
static void when_measurements_differ(void **state)
{
    (void)state;
    struct probe_summary a = {100, 98, 102, 9}, b = {112, 104, 115, 9}, near = {109, 105, 112, 9},
                         wide = {130, 101, 140, 9};
    assert_true(cpu_pairs_differ(&a, &b, 0.1) && cpu_pairs_differ(&b, &a, 0.1));
    assert_false(cpu_pairs_differ(&a, &b, 0.2));
    assert_false(cpu_pairs_differ(&a, &near, 0.1));
    assert_false(cpu_pairs_differ(&a, &wide, 0.1) || cpu_pairs_differ(&wide, &a, 0.1));
    assert_false(cpu_pairs_differ(&a, &a, 0));
}

static void when_a_window_stands(void **state)
{
    (void)state;
    assert_true(cpu_pairs_stand(12, 2, 128, 0));
    assert_false(cpu_pairs_stand(12, 3, 128, 0));
    assert_false(cpu_pairs_stand(2, 1, 2, 0));
    assert_true(cpu_pairs_stand(12, 0, 128, 31));
    /* threads that do not get to run are no measurement */
    assert_false(cpu_pairs_stand(12, 0, 128, 32));
}

/* Four cores that are the two CPUs of this machine twice: concurrent pairs may disturb each other.
 * Each cell is still reported once, and the decision is reported. */
static void every_pair_once(void **state)
{
    (void)state;
    int pus[2];
    if (!two_cores(pus))
        skip();
    struct cpu_core cores[4];
    for (int i = 0; i < 4; i++)
        cores[i] = (struct cpu_core){.number = i,
                                     .pu = pus[i % 2],
                                     .sibling = i == 0 ? pus[1] : -1,
                                     .threads = 1 + (i == 1),
                                     .llc = i / 2};
    struct cpu_topology topology = {.cores = cores, .core_count = 4};
    struct cpu_cell cells[16];
    size_t count = 0;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            if (i == j || i % 2 != j % 2)
                cells[count++] = (struct cpu_cell){.metric = PROBE_CPU_PINGPONG,
                                                   .phase = CPU_PHASE_PINGPONG,
                                                   .from_core = i,
                                                   .to_core = j};
    struct cpu_pairs_plan plan = {.topology = &topology,
                                  .cells = cells,
                                  .count = count,
                                  .end_ns = probe_clock_ns() + 60000000000,
                                  .most_ns = 10000000,
                                  .most_at_once = 2,
                                  .seed = 1};
    struct cpu_workers *workers = cpu_workers_new();
    struct cpu_report report = {.total = count};
    bool gone;
    struct probe_why why = {0};
    if (!cpu_pairs_measure(&plan, workers, &report, &gone, &why))
        fail_msg("%s", why.text);
    assert_int_equal(report.done, count);
    assert_in_range(report.pairs.ways[0].at_once, 1, 2);
    assert_true(report.pairs.ways[0].at_once == 1 || report.pairs.ways[0].verified > 0);
    assert_int_equal(report.pairs.ways[1].at_once, 0); /* nothing was to be played by cas */
    bool allowed = false, single = false;
    for (size_t i = 0; i < report.kept_count; i++) {
        const struct cpu_result *result = &report.kept[i];
        for (size_t k = 0; k < i; k++)
            assert_ptr_not_equal(result->cell, report.kept[k].cell);
        if (result->why == NULL)
            continue;
        bool own = result->cell->from_core == result->cell->to_core && result->cell->from_core > 0;
        allowed |= own && strcmp(result->why, "only one of the core's threads may be used") == 0;
        single |= own && strcmp(result->why, "the core has one thread") == 0;
        /* tried, or not tried any more after several of these */
        assert_true(own || strstr(result->why, "same time") != NULL);
    }
    assert_true(allowed && single);

    /* No time: each is said to be late. */
    cpu_report_done(&report);
    plan.end_ns = 0;
    assert_true(cpu_pairs_measure(&plan, workers, &report, &gone, &why));
    assert_true(report.late && report.kept_count == count);
    cpu_report_done(&report);
    cpu_workers_free(workers);
}

/* One cell represents two llcs, with a check: where they differ, the spare cells are measured and
 * counted; otherwise not. */
static void spare_cells(void **state)
{
    (void)state;
    int pus[2];
    if (!two_cores(pus))
        skip();
    struct cpu_core cores[4];
    for (int i = 0; i < 4; i++)
        cores[i] = (struct cpu_core){
            .number = i, .pu = pus[i / 2], .sibling = -1, .threads = 1, .llc = i / 2};
    struct cpu_topology topology = {.cores = cores, .core_count = 4};
    struct cpu_cell cells[] = {
        {.metric = PROBE_CPU_PINGPONG, .from_core = 0, .to_core = 2, .role = CPU_ROLE_FIRSTS},
        {.metric = PROBE_CPU_PINGPONG, .from_core = 1, .to_core = 3, .role = CPU_ROLE_CHECK},
        {.metric = PROBE_CPU_PINGPONG, .from_core = 1, .to_core = 2, .role = CPU_ROLE_SPARE},
    };
    struct cpu_pairs_plan plan = {.topology = &topology,
                                  .cells = cells,
                                  .count = 3,
                                  .end_ns = probe_clock_ns() + 60000000000,
                                  .most_ns = 1000000000,
                                  .most_at_once = 1,
                                  .seed = 1};
    struct cpu_workers *workers = cpu_workers_new();
    struct cpu_report report = {.total = 2};
    bool gone;
    struct probe_why why = {0};
    if (!cpu_pairs_measure(&plan, workers, &report, &gone, &why))
        fail_msg("%s", why.text);
    assert_int_equal(report.done, report.total);
    /* a busy machine may make the two differ */
    assert_int_equal(report.total, 2 + report.pairs.llc_differing);
    assert_true(report.pairs.llc_pairs <= 1 &&
                report.pairs.llc_differing <= report.pairs.llc_pairs);
    cpu_report_done(&report);
    cpu_workers_free(workers);
}

/* All cores are one CPU, as on a virtual machine that has more of them than the real one: no pair
 * ends. Each cell is skipped with that why, the last ones without a try, and nothing else comes of
 * it. */
static void pairs_that_never_run_together(void **state)
{
    (void)state;
    enum { CORES = 6 };
    struct cpu_topology here;
    topology_here(&here);
    struct cpu_core cores[CORES];
    for (int i = 0; i < CORES; i++)
        cores[i] =
            (struct cpu_core){.number = i, .pu = here.cores[0].pu, .sibling = -1, .threads = 1};
    cpu_topology_done(&here);
    struct cpu_topology topology = {.cores = cores, .core_count = CORES};
    struct cpu_cell cells[2 * CORES * CORES];
    size_t count = 0;
    for (int cas = 0; cas < 2; cas++)
        for (int i = 0; i < CORES; i++)
            for (int j = 0; j < CORES; j++)
                if (i != j)
                    cells[count++] = (struct cpu_cell){
                        .metric = PROBE_CPU_PINGPONG, .from_core = i, .to_core = j, .cas = cas};
    int64_t start_ns = probe_clock_ns();
    struct cpu_pairs_plan plan = {.topology = &topology,
                                  .cells = cells,
                                  .count = count,
                                  .end_ns = start_ns + 120000000000,
                                  .most_ns = 5000000,
                                  .most_at_once = CORES / 2,
                                  .seed = 1};
    struct cpu_workers *workers = cpu_workers_new();
    struct cpu_report report = {.total = count};
    bool gone;
    struct probe_why why = {0};
    if (!cpu_pairs_measure(&plan, workers, &report, &gone, &why))
        fail_msg("%s", why.text);
    assert_false(gone || report.late);
    assert_int_equal(report.done, count);
    size_t tried = 0;
    for (size_t i = 0; i < report.kept_count; i++) {
        assert_non_null(report.kept[i].why);
        assert_non_null(strstr(report.kept[i].why, "the two CPUs do not run at the same time"));
        tried += strncmp(report.kept[i].why, "only", 4) == 0;
    }
    assert_int_equal(tried, CPU_WAIT_LIMIT_IN_ROW);
    cpu_report_done(&report);
    cpu_workers_free(workers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pingpong_plays),       cmocka_unit_test(matches_side_by_side),
        cmocka_unit_test(copy_sizes),           cmocka_unit_test(copies_arrive),
        cmocka_unit_test(queue_hands_over),     cmocka_unit_test(when_measurements_differ),
        cmocka_unit_test(when_a_window_stands), cmocka_unit_test(every_pair_once),
        cmocka_unit_test(spare_cells),          cmocka_unit_test(pairs_that_never_run_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
