/* Measuring on this machine's own CPUs, with small buffers: correct results, regardless of
 * speed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "cpu/bandwidth.h"
#include "cpu/chase.h"
#include "cpu/memory.h"
#include "cpu/noise.h"
#include "cpu/stream.h"
#include "cpu/topology.h"
#include "cpu_machine.h"

/* Time for a ping-pong, which ends much earlier when its two threads run at the same time. On a
 * loaded machine they seldom do. */
#define WAIT_LIMIT_NS 5000000000

struct seen {
    atomic_uint calls;
    int cpu[4];
};

static void see(void *arg, unsigned index)
{
    struct seen *seen = arg;
    atomic_fetch_add(&seen->calls, 1);
    seen->cpu[index] = sched_getcpu();
}

static void workers_run_where_told(void **state)
{
    (void)state;
    struct cpu_topology topology;
    topology_here(&topology);
    struct cpu_workers *workers = cpu_workers_new();
    assert_non_null(workers);
    bool overrun;
    struct probe_why why = {0};
    for (int round = 0; round < 8; round++) {
        struct seen seen = {0};
        int pus[4];
        for (int i = 0; i < 4; i++)
            pus[i] = topology.cores[(i + round) % topology.core_count].pu;
        assert_true(cpu_workers_run(workers, &(struct cpu_work){pus, 4, see, &seen, 10000000000},
                                    &overrun, &why));
        assert_int_equal(seen.calls, 4);
        assert_memory_equal(seen.cpu, pus, sizeof pus);
    }
    struct seen seen = {0};
    assert_false(cpu_workers_run(
        workers, &(struct cpu_work){(const int[]){4000}, 1, see, &seen, 10000000000}, &overrun,
        &why));
    assert_false(overrun);
    assert_int_equal(seen.calls, 0);
    assert_non_null(strstr(why.text, "4000"));
    cpu_workers_free(workers);
    cpu_topology_done(&topology);
}

static void wait_until_told(void *arg, unsigned index)
{
    while (index == 1 && !atomic_load((atomic_bool *)arg))
        ;
}

/* One thread that does not return costs only its own cells: the next ones have new threads. */
static void workers_go_on_without_a_stuck_one(void **state)
{
    (void)state;
    struct cpu_topology topology;
    topology_here(&topology);
    struct cpu_workers *workers = cpu_workers_new();
    static atomic_bool told;
    int pus[2] = {topology.cores[0].pu, topology.cores[0].pu};
    bool overrun;
    struct probe_why why = {0};
    assert_false(cpu_workers_run(
        workers, &(struct cpu_work){pus, 2, wait_until_told, &told, 20000000}, &overrun, &why));
    assert_true(overrun);
    assert_non_null(strstr(why.text, "not done"));
    struct seen seen = {0};
    assert_true(cpu_workers_run(workers, &(struct cpu_work){pus, 2, see, &seen, 10000000000},
                                &overrun, &why));
    assert_int_equal(seen.calls, 2);
    atomic_store(&told, true);
    cpu_workers_free(workers);
    cpu_topology_done(&topology);
}

static void chase_is_one_cycle(void **state)
{
    (void)state;
    static const size_t sizes[] = {512, 256 * 3, 65536, 262144, 1 << 20, (1 << 20) + 300};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t bytes = sizes[s];
        char *base = aligned_alloc(4096, (1 << 20) + 4096);
        assert_non_null(base);
        memset(base, 0, (1 << 20) + 4096);
        struct cpu_chase chase;
        struct probe_random random = {s};
        struct probe_why why = {0};
        assert_true(cpu_chase_build(base, bytes, &random, &chase, &why));
        assert_int_equal(chase.lines,
                         bytes >= 262144 ? bytes / 262144 * 1024 : bytes / CPU_CHASE_SPAN);
        unsigned char *spans = calloc(bytes / CPU_CHASE_SPAN + 1, 1);
        size_t sets[64] = {0}; /* of a cache of 64 sets */
        void **at = chase.at;
        size_t changes = 0;
        for (size_t i = 0; i < chase.lines; i++) {
            size_t offset = (size_t)((char *)at - base);
            assert_true(offset < bytes && offset % CPU_CHASE_LINE == 0);
            assert_int_equal(spans[offset / CPU_CHASE_SPAN]++, 0); /* none twice */
            changes += offset / CPU_CHASE_SPAN != i;
            sets[offset / CPU_CHASE_LINE % 64]++;
            at = *at;
        }
        assert_ptr_equal(at, chase.at); /* and round */
        if (bytes >= 65536)
            assert_true(changes > chase.lines / 2); /* not in order */
        for (size_t set = 0; set < 64 && bytes >= 65536; set++)
            assert_int_equal(sets[set], chase.lines / 64);
        free(spans);
        free(base);
    }
    struct cpu_chase chase;
    struct probe_random random = {0};
    struct probe_why why = {0};
    char small[256];
    assert_false(cpu_chase_build(small, sizeof small, &random, &chase, &why));
}

static void streams_move_bytes(void **state)
{
    (void)state;
    enum { BYTES = 64 << 10, GUARD = 512 };
    char *from = aligned_alloc(4096, BYTES), *to = aligned_alloc(4096, BYTES + 4096);
    const struct cpu_stream *stream;
    unsigned count = 0;
    for (; (stream = cpu_stream_at(count)) != NULL; count++) {
        for (int i = 0; i < BYTES; i++)
            from[i] = (char)(i * 7 + i / 256);
        memset(to, 0x55, BYTES + GUARD);
        stream->copy(to, from, BYTES);
        assert_memory_equal(to, from, BYTES);
        memset(to, 0x55, BYTES + GUARD);
        stream->write(to, BYTES);
        for (int i = 0; i < BYTES; i += 64)
            assert_memory_not_equal(
                to + i, "UUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUUU", 64);
        for (int i = 0; i < GUARD; i++)
            assert_int_equal(to[BYTES + i], 0x55); /* not one byte further */
        stream->read(from, BYTES);
    }
    assert_true(count >= 1);
    free(from);
    free(to);
}

static void memory_is_where_it_should_be(void **state)
{
    (void)state;
    struct cpu_topology topology;
    topology_here(&topology);
    struct cpu_workers *workers = cpu_workers_new();
    bool overrun;
    struct probe_why why = {0};
    struct cpu_memory memory;
    /* The soft end is past, so it stops with the least. */
    struct cpu_memory_request request = {.requested = 60 << 20,
                                         .least = 20 << 20,
                                         .hard_ns = probe_clock_ns() + 10000000000,
                                         .small_limit = INT64_MAX};
    int numa = 0;
    while (!topology.numas[numa].allowed || topology.numas[numa].memory_bytes == 0)
        numa++;
    request.numa = numa;
    request.workers = workers;
    if (!cpu_memory_new(&topology, &request, &memory, &overrun, &why))
        fail_msg("%s", why.text);
    assert_in_range(memory.bytes, 20 << 20, 60 << 20); /* many threads may be past it at once */
    assert_int_equal((uintptr_t)memory.base % 4096, 0);
    memset(memory.base, 1, memory.bytes);

    struct probe_summary summary;
    int pu = topology.cores[0].pu;
    for (enum cpu_direction direction = CPU_READ; direction <= CPU_COPY; direction++) {
        assert_true(cpu_bandwidth_measure(
            &(struct cpu_bandwidth_request){memory.base, memory.bytes, direction, 1, 1 << 20, 0,
                                            500000000},
            &(struct cpu_threads){workers, &pu, NULL}, &summary, &overrun, &why));
        assert_true(summary.n >= 6 && summary.low > 0 && summary.low <= summary.value &&
                    summary.value <= summary.high);
    }
    struct cpu_chase chase;
    struct probe_random random = {3};
    assert_true(cpu_chase_build(memory.base, 64 << 10, &random, &chase, &why));
    assert_true(cpu_chase_measure(&(struct cpu_chase_request){&chase, true, 50000000},
                                  &(struct cpu_threads){workers, &pu, NULL}, &summary, &overrun,
                                  &why));
    assert_true(summary.n >= 40 && summary.low > 0 && summary.low <= summary.value &&
                summary.value <= summary.high);
    cpu_memory_done(&memory);

    /* No byte of it on small pages: either all is on huge ones or there is none. */
    request.small_limit = 0;
    if (cpu_memory_new(&topology, &request, &memory, &overrun, &why)) {
        assert_int_equal(memory.small_bytes, 0);
        cpu_memory_done(&memory);
    } else {
        assert_non_null(strstr(why.text, "small pages"));
    }
    struct cpu_numa *node = &topology.numas[numa];
    node->allowed = false;
    assert_false(cpu_memory_new(&topology, &request, &memory, &overrun, &why));
    assert_non_null(strstr(why.text, "allowed"));
    node->allowed = true;
    request.hard_ns = 0; /* no time at all */
    assert_false(cpu_memory_new(&topology, &request, &memory, &overrun, &why));
    assert_string_equal(why.text, "time budget");
    cpu_workers_free(workers);
    cpu_topology_done(&topology);
}

static void in_a_child(int (*measure)(void))
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(measure());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Makes mbind say yes and do nothing, in this process from now on. */
static bool mbind_lies(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mbind, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = 4, .filter = code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* In a process of its own: 0 refused as it should be, 77 no filter to be had, anything else a
 * failure. */
static int measure_misplaced(void)
{
    struct cpu_topology topology;
    struct cpu_memory memory;
    struct probe_why why = {0};
    bool overrun;
    topology_here(&topology);
    int numa = 0;
    while (!topology.numas[numa].allowed || topology.numas[numa].memory_bytes == 0)
        numa++;
    if (!topology.has_numa || !mbind_lies())
        return 77;
    topology.numas[numa].number += 1000; /* its pages come to lie elsewhere */
    struct cpu_memory_request request = {.numa = numa,
                                         .workers = cpu_workers_new(),
                                         .requested = 4 << 20,
                                         .least = 4 << 20,
                                         .hard_ns = probe_clock_ns() + 10000000000,
                                         .small_limit = INT64_MAX};
    if (cpu_memory_new(&topology, &request, &memory, &overrun, &why))
        return 1;
    return strstr(why.text, "sampled pages are not on node 1") != NULL ? 0 : 2;
}

/* That mbind succeeds proves nothing: memory that lies elsewhere is not measured. */
static void misplaced_memory_is_refused(void **state)
{
    (void)state;
    in_a_child(measure_misplaced);
}

/* Where the kernel gives no huge pages, no more small ones are taken than allowed, and those are
 * counted. */
static int measure_small(void)
{
    struct cpu_topology topology;
    struct cpu_memory memory;
    struct probe_why why = {0};
    bool overrun;
    topology_here(&topology);
    int numa = 0;
    while (!topology.numas[numa].allowed || topology.numas[numa].memory_bytes == 0)
        numa++;
    if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0)
        return 77;
    int64_t limit = cpu_memory_small_limit(10000000);
    if (limit < 1 << 20 || limit > (int64_t)1 << 36 || cpu_memory_small_limit(0) != 0)
        return 1;
    struct cpu_memory_request request = {.numa = numa,
                                         .workers = cpu_workers_new(),
                                         .requested = 64 << 20,
                                         .least = 64 << 20,
                                         .soft_ns = INT64_MAX,
                                         .hard_ns = INT64_MAX,
                                         .small_limit = 10 << 20};
    if (!cpu_memory_new(&topology, &request, &memory, &overrun, &why))
        return 2;
    if (memory.pages == CPU_PAGES_HUGETLB)
        return 77;
    if (memory.pages != CPU_PAGES_SMALL || memory.bytes > 10 << 20 || memory.bytes < 2 << 20 ||
        memory.small_bytes != memory.bytes || memory.huge_share > 0)
        return 3;
    memset(memory.base, 1, memory.bytes);
    return 0;
}

static void small_pages_are_few(void **state)
{
    (void)state;
    in_a_child(measure_small);
}

/* Reads of the same part of a memory, and their noise: it is under way in every repetition that
 * counts. */
static void noise_never_pauses(void **state)
{
    (void)state;
    struct cpu_topology topology;
    topology_here(&topology);
    if (topology.core_count < 2) {
        cpu_topology_done(&topology);
        skip();
    }
    enum { BYTES = 8 << 20, NOISE = 4 << 20 };
    int pus[2] = {topology.cores[0].pu, topology.cores[1].pu};
    struct cpu_workers *workers = cpu_workers_new();
    char *base = aligned_alloc(4096, BYTES);
    memset(base, 0, BYTES);
    struct probe_why why = {0};
    struct probe_random random = {5};
    struct cpu_chase chase;
    assert_true(cpu_chase_build(base, BYTES - NOISE, &random, &chase, &why));
    for (int round = 0; round < 2; round++) {
        struct cpu_noise noise;
        struct probe_summary summary;
        bool overrun;
        assert_true(cpu_noise_init(&noise, pus + 1, 1, base + BYTES - NOISE, NOISE, &why));
        const struct cpu_threads threads = {workers, pus, &noise};
        struct cpu_bandwidth_request bandwidth = {base, BYTES - NOISE,     CPU_READ, 1, 1 << 20,
                                                  0,    WAIT_LIMIT_NS / 10};
        struct cpu_chase_request latency = {&chase, false, WAIT_LIMIT_NS / 10};
        bool ok = round == 0 ? cpu_bandwidth_measure(&bandwidth, &threads, &summary, &overrun, &why)
                             : cpu_chase_measure(&latency, &threads, &summary, &overrun, &why);
        if (!ok)
            fail_msg("%s", why.text);
        /* One window for each repetition that was used, at least, and in each of them bytes. */
        assert_true(noise.windows >= summary.n && summary.n >= 6);
        struct probe_summary rate = cpu_noise_rate(&noise);
        assert_true(noise.rate[0] > 0 && rate.value > 1e6 && rate.value < 1e13);
        assert_true(atomic_load(&noise.reader[0].bytes) >= summary.n * CPU_NOISE_STEP);
        cpu_noise_done(&noise);
    }
    free(base);
    cpu_workers_free(workers);
    cpu_topology_done(&topology);
}

/* Readers that stand still, one of two or both, make no noise. */
static void noise_that_stands_still_is_none(void **state)
{
    (void)state;
    static const int pus[2] = {0, 1};
    struct probe_why why = {0};
    struct cpu_noise noise;
    char *base = aligned_alloc(4096, 4 * CPU_NOISE_STEP);
    memset(base, 0, 4 * CPU_NOISE_STEP);
    assert_false(cpu_noise_init(&noise, pus, 2, base, CPU_NOISE_STEP, &why));
    assert_true(cpu_noise_init(&noise, pus, 2, base, 4 * CPU_NOISE_STEP, &why));
    assert_false(cpu_noise_await(&noise, 1000000));
    cpu_noise_begin_window(&noise);
    assert_false(cpu_noise_end_window(&noise));
    atomic_store(&noise.reader[0].bytes, 1000);
    assert_false(cpu_noise_await(&noise, 1000000));
    assert_false(cpu_noise_end_window(&noise));
    assert_int_equal(noise.windows, 0);
    atomic_store(&noise.reader[1].bytes, 3000);
    assert_true(cpu_noise_await(&noise, 1000000));
    assert_true(cpu_noise_end_window(&noise));
    assert_int_equal(noise.windows, 1);
    cpu_noise_begin_window(&noise);
    noise.window_ns -= 1000000000; /* 500 bytes in a second and a little */
    atomic_store(&noise.reader[0].bytes, 1200);
    atomic_store(&noise.reader[1].bytes, 3300);
    assert_true(cpu_noise_end_window(&noise));
    assert_true(noise.rate[1] <= 500 && noise.rate[1] > 1);
    cpu_noise_done(&noise);
    free(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_run_where_told),
        cmocka_unit_test(chase_is_one_cycle),
        cmocka_unit_test(streams_move_bytes),
        cmocka_unit_test(memory_is_where_it_should_be),
        cmocka_unit_test(misplaced_memory_is_refused),
        cmocka_unit_test(small_pages_are_few),
        cmocka_unit_test(noise_never_pauses),
        cmocka_unit_test(noise_that_stands_still_is_none),
        /* last, because its threads stay, and a process with threads had better not fork */
        cmocka_unit_test(workers_go_on_without_a_stuck_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
