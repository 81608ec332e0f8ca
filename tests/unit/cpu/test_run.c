/* Whole runs on this machine: every line is one that the daemon reads, and every cell is reported
 * once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "cpu/run.h"
#include "node/record.h"

struct tally {
    size_t runs, values, skips, ends, late;
    char placement[80], status[20], why[200];
    int64_t done, total;
    char conditions[4096];
};

/* Runs the probe on the CPUs given (NULL: all allowed) and reads its output. */
static void run_and_read(int64_t budget_ns, const char *cpus, struct tally *ret_tally)
{
    struct cpu_topology topology;
    struct cpu_list allowed, memory, only;
    bool known;
    struct probe_why why = {0};
    assert_true(cpu_topology_allowed(&allowed, &memory, &known, &why));
    if (cpus != NULL) {
        assert_true(cpu_list_parse(cpus, &only));
        allowed = only;
    }
    assert_true(cpu_topology_read("", &allowed, known ? &memory : NULL, &topology, &why));
    struct cpu_run_options options = {.root = "",
                                      .budget_ns = budget_ns,
                                      .started_ns = probe_clock_ns(),
                                      .selection = {.seed = 1}};
    options.selection.metrics[PROBE_CPU_PINGPONG] = options.selection.metrics[PROBE_CPU_COPY] =
        options.selection.metrics[PROBE_CPU_QUEUE] =
            options.selection.metrics[PROBE_MEMORY_BANDWIDTH] =
                options.selection.metrics[PROBE_MEMORY_LATENCY] =
                    options.selection.metrics[PROBE_MEMORY_NOISE] = true;
    struct cpu_cells cells;
    assert_true(cpu_cells_new(&topology, &options.selection, &cells, &why));

    FILE *file = tmpfile();
    assert_non_null(file);
    struct probe_out out = {.fd = fileno(file), .gate = PTHREAD_MUTEX_INITIALIZER};
    struct cpu_report report = {.out = &out};
    enum cpu_run_status status = cpu_run(&topology, &cells, &options, &report, &why);
    assert_true(cpu_report_end(&report, cpu_run_status_name(status), 1));
    assert_int_equal(report.done, cells.count);

    struct tally tally = {0};
    json_t *all = NULL;
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    rewind(file);
    while ((length = getline(&line, &size, file)) > 0) {
        struct record record;
        struct berth_err err = {0};
        if (record_parse(line, (size_t)length, &record, &err) != BERTH_OK)
            fail_msg("%s: %s", err.detail, line);
        if (record.kind == RECORD_RUN) {
            tally.runs++;
            const char *placement =
                json_string_value(json_object_get(record.run.conditions, "placement"));
            snprintf(tally.placement, sizeof tally.placement, "%s", placement ? placement : "");
            assert_string_equal(record.run.probe, "cpu");
            assert_non_null(json_object_get(record.run.conditions, "kernel"));
            assert_null(json_object_get(record.run.conditions, "hostname"));
            all = json_deep_copy(record.run.conditions);
        } else if (record.kind == RECORD_VALUE) {
            tally.values++;
            assert_true(record.value.sample_count > 0 ||
                        (record.value.n >= 6 && record.value.low > 0));
            for (size_t i = 0; i < record.value.sample_count; i++)
                assert_true(record.value.samples[i].n >= 6 && record.value.samples[i].low_ns > 0);
            assert_true(record.value.sample_count == 0 || record.value.sample_count >= 6);
        } else if (record.kind == RECORD_SKIP) {
            tally.skips++;
            tally.late += strcmp(record.skip.why, "time budget") == 0;
            snprintf(tally.why, sizeof tally.why, "%s", record.skip.why);
        } else if (record.kind == RECORD_PROGRESS) {
            assert_true(record.progress.done > tally.done);
            tally.done = record.progress.done;
            tally.total = record.progress.total;
        } else if (record.kind == RECORD_END) {
            tally.ends++;
            snprintf(tally.status, sizeof tally.status, "%s", record.end.status);
            json_object_update(all, record.end.conditions); /* as the daemon keeps them */
            char *conditions = json_dumps(all, JSON_SORT_KEYS);
            snprintf(tally.conditions, sizeof tally.conditions, "%s", conditions);
            free(conditions);
            json_decref(all);
        }
        record_done(&record);
    }
    assert_int_equal(tally.runs, 1);
    assert_int_equal(tally.ends, 1);
    assert_int_equal(tally.total, cells.count);
    assert_int_equal(tally.done, cells.count);
    assert_true(tally.values + tally.skips >= cells.count);
    *ret_tally = tally;
    free(line);
    fclose(file);
    cpu_report_done(&report);
    cpu_cells_done(&cells);
    cpu_topology_done(&topology);
}

static void quick(void **state)
{
    (void)state;
    struct tally tally;
    run_and_read(2800000000, NULL, &tally);
    assert_true(tally.values > 0);
}

/* Returns the conditions behind the sizes of the buffers, which depend on the free memory of a
 * shared machine. */
static const char *behind_buffers(const char *conditions)
{
    const char *behind = strstr(conditions, "\"clock_source\"");
    return behind != NULL ? behind : conditions;
}

/* The daemon keeps each text once: nothing in it may change by itself from run to run, such as a
 * load average to two digits. */
static void conditions_are_steady(void **state)
{
    (void)state;
    struct tally first, again;
    bool same = false;
    for (int i = 0; i < 5 && !same; i++) { /* the load's word may just change */
        /* long enough to measure side by side, and to verify it */
        run_and_read(1500000000, NULL, &first);
        run_and_read(1500000000, NULL, &again);
        same = strcmp(behind_buffers(first.conditions), behind_buffers(again.conditions)) == 0;
    }
    assert_string_equal(behind_buffers(first.conditions), behind_buffers(again.conditions));
    assert_non_null(strstr(first.conditions, "\"load\""));
    assert_null(strstr(first.conditions, "seed"));
}

/* A budget that is spent at once: every cell says so. */
static void no_time(void **state)
{
    (void)state;
    struct tally tally;
    run_and_read(1, NULL, &tally);
    assert_int_equal(tally.values, 0);
    assert_true(tally.late > 0);
    assert_string_equal(tally.status, "budget");
}

static void one_cpu(void **state)
{
    (void)state;
    struct tally tally;
    run_and_read(1000000000, "0", &tally);
    assert_true(tally.skips >= 1);
}

/* In a child process, so that the filter stays there: system call number call fails with EPERM. */
static int run_without(const int *calls, size_t count, struct tally *ret_tally)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        for (size_t i = 0; i < count; i++) {
            struct sock_filter code[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
            };
            struct sock_fprog program = {.len = 4, .filter = code};
            if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
                prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
                _exit(77);
        }
        struct tally tally;
        run_and_read(4000000000, NULL, &tally);
        _exit(write(ends[1], &tally, sizeof tally) == sizeof tally ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    close(ends[1]);
    bool got = read(ends[0], ret_tally, sizeof *ret_tally) == sizeof *ret_tally;
    close(ends[0]);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        return 77;
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0 && got);
    return 0;
}

/* Containers often forbid these two. */
static void forbidden_calls(void **state)
{
    (void)state;
    struct tally tally;
    static const int move_pages_call[] = {SYS_move_pages}, both[] = {SYS_mbind, SYS_move_pages};
    if (run_without(move_pages_call, 1, &tally) == 77)
        skip();
    assert_true(tally.values > 0);
    assert_string_equal(tally.placement, "bound, unproven: move_pages not permitted");
    assert_int_equal(run_without(both, 2, &tally), 0);
    if (tally.placement[0] != '\0') /* one node with memory */
        assert_string_equal(tally.placement, "unproven: mbind not permitted");
    else
        assert_non_null(strstr(tally.why, "mbind is not permitted"));
}

/* Where memory is slow to come, its filling has all the time that nothing else needs: a run of one
 * metric ended with most of its budget unused and "the lines visited are not twice the last-level
 * cache". */
static void one_metric_has_the_budget(void **state)
{
    (void)state;
    struct cpu_cell cell[CPU_PHASE_COUNT] = {{.phase = CPU_PHASE_BANDWIDTH},
                                             {.phase = CPU_PHASE_LATENCY},
                                             {.phase = CPU_PHASE_PINGPONG},
                                             {.phase = CPU_PHASE_HANDOFF},
                                             {.phase = CPU_PHASE_DETAIL}};
    struct cpu_run_shares all, one;
    cpu_run_shares(&(struct cpu_cells){.item = cell, .count = CPU_PHASE_COUNT}, &all);
    assert_true(all.fill_end > 0.399 && all.fill_end < 0.401 &&
                all.phase_end[CPU_PHASE_BANDWIDTH] > 0.469 &&
                all.phase_end[CPU_PHASE_DETAIL] == 0.97);
    for (int phase = 0; phase < CPU_PHASE_COUNT; phase++) {
        cpu_run_shares(&(struct cpu_cells){.item = &cell[phase], .count = 1}, &one);
        assert_true(one.phase_end[phase] == 0.97 && one.fill_end > 0.8 && one.fill_end < 0.91);
        assert_true(phase == 0 || all.phase_end[phase] > all.phase_end[phase - 1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quick),           cmocka_unit_test(conditions_are_steady),
        cmocka_unit_test(no_time),         cmocka_unit_test(one_cpu),
        cmocka_unit_test(forbidden_calls), cmocka_unit_test(one_metric_has_the_budget)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
