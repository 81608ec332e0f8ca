#include "cpu_pingpong.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probe_clock.h"

#define WARM_ROUNDS  200
#define BATCH_ROUNDS 500
#define CHECK_ROUNDS 20                    /* of the warm-up between two looks at the clock */
#define PLACES       (PROBE_STATS_MAX + 2) /* the warm-up, the batches, and the stop, each elsewhere */
#define STOP         UINT32_MAX            /* the last number, after which the answering thread leaves */

/* Two cache lines apart on every machine we know: lines are 64 or 128 bytes, and 64-byte ones are fetched in pairs. */
struct flags {
    _Alignas(256) _Atomic uint32_t ping;
    _Alignas(256) _Atomic uint32_t pong;
};

struct cpu_pingpong {
    struct flags *flags; /* PLACES of them */
    size_t bytes;        /* whole pages */
    bool cas;
    int64_t budget_ns;
    _Atomic unsigned ready;
    double batch_ns[PROBE_STATS_MAX]; /* a round's mean time */
    unsigned batches, stop_place;
    bool slow; /* given up: the warm-up did not end within the budget, or the batches not within ten times that */
};

struct cpu_pingpong *cpu_pingpong_new(struct probe_why *why)
{
    struct cpu_pingpong *pingpong = calloc(1, sizeof *pingpong);
    if (pingpong != NULL) {
        size_t page = (size_t)sysconf(_SC_PAGESIZE);
        pingpong->bytes = (PLACES * sizeof(struct flags) + page - 1) / page * page;
        void *pages = mmap(NULL, pingpong->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
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

/* How many rounds are played at a place before both move on. */
static uint32_t rounds_at(unsigned place) { return place == 0 ? WARM_ROUNDS : BATCH_ROUNDS; }

/* Release and acquire order the two flags on weakly ordered machines and cost nothing on x86. Numbers begin with 1. */
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
    for (unsigned place = 0;; place++, flags++)
        for (uint32_t last = 0, number; last != rounds_at(place); last = number) {
            while ((number = atomic_load_explicit(&flags->ping, memory_order_acquire)) == last)
                ;
            atomic_store_explicit(&flags->pong, number, memory_order_release);
            if (number == STOP)
                return;
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
    for (unsigned place = 0;; place++, flags++)
        for (uint32_t done = 0; done < rounds_at(place);) {
            uint32_t expected = 1;
            if (atomic_compare_exchange_strong_explicit(&flags->ping, &expected, 0, memory_order_acq_rel, memory_order_relaxed))
                done++;
            else if (expected == STOP)
                return;
        }
}

/* Plays rounds at a place; first is the number of the first. */
static void ask(const struct cpu_pingpong *pingpong, unsigned place, uint32_t first, uint32_t rounds)
{
    if (pingpong->cas)
        ask_cas(pingpong->flags + place, rounds);
    else
        ask_store(pingpong->flags + place, first, rounds);
}

/* At the place where the answering thread waits. */
static void stop_answering(struct cpu_pingpong *pingpong, unsigned place)
{
    uint32_t expected = 0;
    if (!pingpong->cas)
        atomic_store_explicit(&pingpong->flags[place].ping, STOP, memory_order_release);
    else
        while (!atomic_compare_exchange_strong(&pingpong->flags[place].ping, &expected, STOP))
            expected = 0;
    pingpong->stop_place = place;
}

/* Returns the place at which to stop. */
static unsigned measure(struct cpu_pingpong *pingpong)
{
    int64_t start = probe_clock_ns();
    for (unsigned done = 0; done < WARM_ROUNDS; done += CHECK_ROUNDS) {
        ask(pingpong, 0, done + 1, CHECK_ROUNDS);
        if (done + CHECK_ROUNDS < WARM_ROUNDS && probe_clock_ns() - start > pingpong->budget_ns) {
            pingpong->slow = true;
            return 0;
        }
    }
    double sorted[PROBE_STATS_MAX];
    bool late = false;
    do {
        int64_t from = probe_clock_ns();
        ask(pingpong, pingpong->batches + 1, 1, BATCH_ROUNDS);
        int64_t to = probe_clock_ns();
        pingpong->batch_ns[pingpong->batches++] = (double)(to - from) / BATCH_ROUNDS;
        late = to - start > pingpong->budget_ns;
        pingpong->slow = to - start > PROBE_STATS_PATIENCE * pingpong->budget_ns;
        memcpy(sorted, pingpong->batch_ns, sizeof sorted);
    } while (!pingpong->slow && !probe_stats_enough(sorted, pingpong->batches, late));
    return pingpong->batches + 1;
}

void cpu_pingpong_begin(struct cpu_pingpong *pingpong, bool cas, int64_t budget_ns)
{
    pingpong->cas = cas;
    pingpong->budget_ns = budget_ns;
    pingpong->batches = 0;
    pingpong->slow = false;
    atomic_store(&pingpong->ready, 0);
    madvise(pingpong->flags, pingpong->bytes, MADV_DONTNEED);
}

void cpu_pingpong_play(void *table, unsigned side)
{
    struct cpu_pingpong *pingpong = table;
    for (unsigned place = 0; side == 0 && place < PLACES; place++) {
        /* The pages were given back, so this touch places them. */
        atomic_store(&pingpong->flags[place].ping, 0);
        atomic_store(&pingpong->flags[place].pong, 0);
    }
    atomic_fetch_add(&pingpong->ready, 1);
    while (atomic_load(&pingpong->ready) < 2)
        ;
    if (side == 0) {
        stop_answering(pingpong, measure(pingpong));
    } else if (pingpong->cas) {
        answer_cas(pingpong->flags);
    } else {
        answer_store(pingpong->flags);
    }
}

bool cpu_pingpong_end(struct cpu_pingpong *pingpong, struct probe_summary *ret_summary, struct probe_why *why)
{
    /* What the way of playing leaves: cas touches the first line alone. */
    const struct flags *last = &pingpong->flags[pingpong->stop_place];
    assert(atomic_load(&last->ping) == STOP && atomic_load(&last->pong) == (pingpong->cas ? 0 : STOP));
    if (pingpong->slow)
        return probe_why_set(why, "only %u batches within %.0f ms: the two CPUs do not run at the same time", pingpong->batches,
                             (double)pingpong->budget_ns * (pingpong->batches == 0 ? 1 : PROBE_STATS_PATIENCE) / 1e6);
    *ret_summary = probe_stats_quantile(pingpong->batch_ns, pingpong->batches, 0.5);
    return true;
}
