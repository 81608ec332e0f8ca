#include "cpu_pingpong.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probe_clock.h"

#define WARM_ROUNDS  200
#define BATCH_ROUNDS 2000
#define CHECK_ROUNDS 20         /* of the warm-up between two looks at the clock */
#define STOP         UINT32_MAX /* the last number, after which the answering thread leaves */

/* Two cache lines apart on every machine we know: lines are 64 or 128 bytes, and 64-byte ones are fetched in pairs. */
struct flags {
    _Alignas(256) _Atomic uint32_t ping;
    _Alignas(256) _Atomic uint32_t pong;
};

struct cpu_pingpong {
    struct flags *flags; /* a page */
    size_t page;
    bool cas;
    int64_t budget_ns;
    _Atomic unsigned ready;
    double batch_ns[PROBE_STATS_MAX]; /* a round's mean time */
    unsigned batches;
    bool slow; /* given up: the warm-up did not end within the budget, or the batches not within ten times that */
};

struct cpu_pingpong *cpu_pingpong_new(struct probe_why *why)
{
    struct cpu_pingpong *pingpong = calloc(1, sizeof *pingpong);
    if (pingpong != NULL) {
        pingpong->page = (size_t)sysconf(_SC_PAGESIZE);
        void *page = mmap(NULL, pingpong->page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page != MAP_FAILED) {
            pingpong->flags = page;
            return pingpong;
        }
        free(pingpong);
    }
    probe_why_set(why, "out of memory");
    return NULL;
}

void cpu_pingpong_free(struct cpu_pingpong *pingpong)
{
    if (pingpong == NULL)
        return;
    munmap(pingpong->flags, pingpong->page);
    free(pingpong);
}

/* Release and acquire order the two flags on weakly ordered machines and cost nothing on x86. */
static void ask_store(struct flags *flags, uint32_t first, uint32_t rounds)
{
    for (uint32_t number = first; number < first + rounds; number++) {
        atomic_store_explicit(&flags->ping, number, memory_order_release);
        while (atomic_load_explicit(&flags->pong, memory_order_acquire) != number)
            ;
    }
}

static void answer_store(struct flags *flags)
{
    for (uint32_t last = 0, number; last != STOP; last = number) {
        while ((number = atomic_load_explicit(&flags->ping, memory_order_acquire)) == last)
            ;
        atomic_store_explicit(&flags->pong, number, memory_order_release);
    }
}

static void ask_cas(struct flags *flags, uint32_t rounds)
{
    for (uint32_t i = 0; i < rounds; i++) {
        uint32_t expected = 0;
        while (!atomic_compare_exchange_strong_explicit(&flags->ping, &expected, 1, memory_order_acq_rel, memory_order_relaxed))
            expected = 0;
    }
}

static void answer_cas(struct flags *flags)
{
    uint32_t expected = 1;
    for (;;) {
        if (!atomic_compare_exchange_strong_explicit(&flags->ping, &expected, 0, memory_order_acq_rel, memory_order_relaxed) &&
            expected == STOP)
            return;
        expected = 1;
    }
}

static void ask(const struct cpu_pingpong *pingpong, uint32_t *number, uint32_t rounds)
{
    if (pingpong->cas)
        ask_cas(pingpong->flags, rounds);
    else
        ask_store(pingpong->flags, *number, rounds);
    *number += rounds;
}

static void stop_answering(struct cpu_pingpong *pingpong)
{
    uint32_t expected = 0;
    if (!pingpong->cas)
        atomic_store_explicit(&pingpong->flags->ping, STOP, memory_order_release);
    else
        while (!atomic_compare_exchange_strong(&pingpong->flags->ping, &expected, STOP))
            expected = 0;
}

static void measure(struct cpu_pingpong *pingpong)
{
    uint32_t number = 1;
    int64_t start = probe_clock_ns();
    for (unsigned done = 0; done < WARM_ROUNDS; done += CHECK_ROUNDS) {
        ask(pingpong, &number, CHECK_ROUNDS);
        if (probe_clock_ns() - start > pingpong->budget_ns) {
            pingpong->slow = true;
            return;
        }
    }
    double sorted[PROBE_STATS_MAX];
    bool late = false;
    do {
        int64_t from = probe_clock_ns();
        ask(pingpong, &number, BATCH_ROUNDS);
        int64_t to = probe_clock_ns();
        pingpong->batch_ns[pingpong->batches++] = (double)(to - from) / BATCH_ROUNDS;
        late = to - start > pingpong->budget_ns;
        pingpong->slow = to - start > PROBE_STATS_PATIENCE * pingpong->budget_ns;
        memcpy(sorted, pingpong->batch_ns, sizeof sorted);
    } while (!pingpong->slow && !probe_stats_enough(sorted, pingpong->batches, late));
}

static void work(void *arg, unsigned index)
{
    struct cpu_pingpong *pingpong = arg;
    if (index == 0) {
        /* The page was given back, so this touch places it. */
        atomic_store(&pingpong->flags->ping, 0);
        atomic_store(&pingpong->flags->pong, 0);
    }
    atomic_fetch_add(&pingpong->ready, 1);
    while (atomic_load(&pingpong->ready) < 2)
        ;
    if (index == 0) {
        measure(pingpong);
        stop_answering(pingpong);
    } else if (pingpong->cas) {
        answer_cas(pingpong->flags);
    } else {
        answer_store(pingpong->flags);
    }
}

bool cpu_pingpong_measure(struct cpu_pingpong *pingpong, struct cpu_workers *workers, int from, int to, bool cas,
                          int64_t budget_ns, struct probe_summary *ret_summary, bool *ret_overrun, struct probe_why *why)
{
    pingpong->cas = cas;
    pingpong->budget_ns = budget_ns;
    pingpong->batches = 0;
    pingpong->slow = false;
    atomic_store(&pingpong->ready, 0);
    madvise(pingpong->flags, pingpong->page, MADV_DONTNEED);
    if (!cpu_workers_run(workers, (const int[]){from, to}, 2, work, pingpong, 20 * budget_ns + 1000000000, ret_overrun, why))
        return false;
    /* What the way of playing leaves: cas touches the first line alone. */
    assert(atomic_load(&pingpong->flags->ping) == STOP && atomic_load(&pingpong->flags->pong) == (cas ? 0 : STOP));
    if (pingpong->slow)
        return probe_why_set(why, "only %u batches within %.0f ms: the two CPUs do not run at the same time", pingpong->batches,
                             (double)budget_ns * (pingpong->batches == 0 ? 1 : PROBE_STATS_PATIENCE) / 1e6);
    *ret_summary = probe_stats_quantile(pingpong->batch_ns, pingpong->batches, 0.5);
    return true;
}
