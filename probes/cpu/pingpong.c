#include "cpu/pingpong.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/clock.h"
#include "cpu/wait_limit.h"

#define WARM_ROUNDS  200
#define BATCH_ROUNDS 500
/* the warm-up, the batches, and the stop, each elsewhere */
#define PLACES (PROBE_STATS_MAX + 2)
/* the last number, after which the answering thread leaves */
#define STOP UINT32_MAX

/* Two cache lines apart on every known machine: lines are 64 or 128 bytes, and 64-byte ones are
 * fetched in pairs. */
struct flags {
    _Alignas(256) _Atomic uint32_t ping;
    _Alignas(256) _Atomic uint32_t pong;
};

struct cpu_pingpong {
    struct flags *flags; /* PLACES flags */
    size_t bytes;        /* whole pages */
    bool cas;
    int64_t budget_ns, wait_limit_ns;
    struct cpu_wait_limit wait_limit;
    double batch_ns[PROBE_STATS_MAX]; /* a round's mean time */
    unsigned batches, stop_place;
    bool slow; /* given up */
};

struct cpu_pingpong *cpu_pingpong_new(struct probe_why *why)
{
    struct cpu_pingpong *pingpong = calloc(1, sizeof *pingpong);
    if (pingpong != NULL) {
        size_t page = (size_t)sysconf(_SC_PAGESIZE);
        pingpong->bytes = (PLACES * sizeof(struct flags) + page - 1) / page * page;
        void *pages =
            mmap(NULL, pingpong->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages != MAP_FAILED) {
            pingpong->flags = pages;
            return pingpong;
        }
        free(pingpong);
    }
    probe_why_write(why, "out of memory");
    return NULL;
}

void cpu_pingpong_free(struct cpu_pingpong *pingpong)
{
    if (pingpong == NULL)
        return;
    munmap(pingpong->flags, pingpong->bytes);
    free(pingpong);
}

/* Number of rounds at a place before both move on. */
static uint32_t rounds_at(unsigned place) { return place == 0 ? WARM_ROUNDS : BATCH_ROUNDS; }

/* Release and acquire order the two flags on weakly ordered machines and cost nothing on x86.
 * Numbers begin with 1. */
static bool ask_store(struct flags *flags, uint32_t rounds, struct cpu_wait_limit *wait_limit)
{
    for (uint32_t number = 1; number <= rounds; number++) {
        atomic_store_explicit(&flags->ping, number, memory_order_release);
        for (unsigned spins = 1; atomic_load_explicit(&flags->pong, memory_order_acquire) != number;
             spins++)
            if (cpu_wait_limit_ends(wait_limit, spins))
                return false;
    }
    return true;
}

static void answer_store(struct flags *flags, struct cpu_wait_limit *wait_limit)
{
    for (unsigned place = 0;; place++, flags++)
        for (uint32_t last = 0, number; last != rounds_at(place); last = number) {
            for (unsigned spins = 1;
                 (number = atomic_load_explicit(&flags->ping, memory_order_acquire)) == last;
                 spins++)
                if (cpu_wait_limit_ends(wait_limit, spins))
                    return;
            atomic_store_explicit(&flags->pong, number, memory_order_release);
            if (number == STOP)
                return;
        }
}

/* Changes the line from 0 to the given number. */
static bool change_cas(struct flags *flags, uint32_t to, struct cpu_wait_limit *wait_limit)
{
    uint32_t expected = 0;
    for (unsigned spins = 1; !atomic_compare_exchange_strong_explicit(
             &flags->ping, &expected, to, memory_order_acq_rel, memory_order_relaxed);
         spins++) {
        if (cpu_wait_limit_ends(wait_limit, spins))
            return false;
        expected = 0;
    }
    return true;
}

static bool ask_cas(struct flags *flags, uint32_t rounds, struct cpu_wait_limit *wait_limit)
{
    for (uint32_t i = 0; i < rounds; i++)
        if (!change_cas(flags, 1, wait_limit))
            return false;
    return true;
}

static void answer_cas(struct flags *flags, struct cpu_wait_limit *wait_limit)
{
    for (unsigned place = 0;; place++, flags++)
        for (uint32_t done = 0; done < rounds_at(place); done++) {
            uint32_t expected = 1;
            for (unsigned spins = 1; !atomic_compare_exchange_strong_explicit(
                     &flags->ping, &expected, 0, memory_order_acq_rel, memory_order_relaxed);
                 spins++) {
                if (expected == STOP || cpu_wait_limit_ends(wait_limit, spins))
                    return;
                expected = 1;
            }
        }
}

/* Plays all rounds of a place; false when given up. */
static bool ask(struct cpu_pingpong *pingpong, unsigned place)
{
    struct flags *flags = pingpong->flags + place;
    return pingpong->cas ? ask_cas(flags, rounds_at(place), &pingpong->wait_limit)
                         : ask_store(flags, rounds_at(place), &pingpong->wait_limit);
}

/* At the place where the answering thread waits. */
static void stop_answering(struct cpu_pingpong *pingpong, unsigned place)
{
    if (pingpong->cas)
        change_cas(&pingpong->flags[place], STOP, &pingpong->wait_limit);
    else
        atomic_store_explicit(&pingpong->flags[place].ping, STOP, memory_order_release);
    pingpong->stop_place = place;
}

/* Returns true when the batches are enough; false when it was given up. */
static bool measure(struct cpu_pingpong *pingpong)
{
    int64_t start = probe_clock_ns();
    double sorted[PROBE_STATS_MAX];
    bool late;
    if (!ask(pingpong, 0))
        return false;
    do {
        int64_t from = probe_clock_ns();
        if (!ask(pingpong, pingpong->batches + 1))
            return false;
        int64_t to = probe_clock_ns();
        pingpong->batch_ns[pingpong->batches++] = (double)(to - from) / BATCH_ROUNDS;
        late = to - start > pingpong->budget_ns;
        memcpy(sorted, pingpong->batch_ns, sizeof sorted);
    } while (!probe_stats_enough(sorted, pingpong->batches, late));
    return true;
}

void cpu_pingpong_begin(struct cpu_pingpong *pingpong, bool cas, int64_t budget_ns,
                        int64_t wait_limit_ns)
{
    pingpong->cas = cas;
    pingpong->budget_ns = budget_ns;
    pingpong->wait_limit_ns = wait_limit_ns;
    pingpong->batches = 0;
    pingpong->slow = true;
    madvise(pingpong->flags, pingpong->bytes, MADV_DONTNEED);
    cpu_wait_limit_begin(&pingpong->wait_limit, wait_limit_ns);
}

void cpu_pingpong_run_side(void *table, unsigned side)
{
    struct cpu_pingpong *pingpong = table;
    for (unsigned place = 0; side == 0 && place < PLACES; place++) {
        /* The pages were given back, so this touch places them. */
        atomic_store(&pingpong->flags[place].ping, 0);
        atomic_store(&pingpong->flags[place].pong, 0);
    }
    if (!cpu_wait_limit_meet(&pingpong->wait_limit))
        return;
    if (side == 0) {
        pingpong->slow = !measure(pingpong);
        if (!pingpong->slow)
            stop_answering(pingpong, pingpong->batches + 1);
    } else if (pingpong->cas) {
        answer_cas(pingpong->flags, &pingpong->wait_limit);
    } else {
        answer_store(pingpong->flags, &pingpong->wait_limit);
    }
}

bool cpu_pingpong_end(struct cpu_pingpong *pingpong, struct probe_summary *ret_summary,
                      struct probe_why *why)
{
    if (pingpong->slow)
        return probe_why_set(
            why, "only %u batches within %.0f ms: the two CPUs do not run at the same time",
            pingpong->batches, (double)pingpong->wait_limit_ns / 1e6);
    /* Final state of the flags: cas touches the first line alone. */
    const struct flags *last = &pingpong->flags[pingpong->stop_place];
    assert(atomic_load(&pingpong->wait_limit.over) ||
           (atomic_load(&last->ping) == STOP &&
            atomic_load(&last->pong) == (pingpong->cas ? 0 : STOP)));
    *ret_summary = probe_stats_quantile(pingpong->batch_ns, pingpong->batches, 0.5);
    return true;
}
