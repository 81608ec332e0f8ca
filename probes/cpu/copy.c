#include "cpu/copy.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "cpu/stream.h"
#include "cpu/wait_limit.h"

#define SMALLEST ((int64_t)4096)
#define BEYOND   ((int64_t)4 << 20) /* twice the largest known level-2 cache of a core */
#define STAMPS   4096               /* bytes between two words that are checked */
/* least bytes per second of a core that runs all the time */
#define SLOWEST 1e9

/* Loads would wait for stores with the same low address bits, as in cpu/bandwidth.c. */
#define TARGET_SHIFT ((size_t)7 * 512)

struct cpu_copy {
    const struct cpu_stream *stream;
    struct cpu_copy_plan plan;
    int64_t bytes[CPU_COPY_SIZES_MAX];
    int64_t wait_limit_ns;
    struct cpu_wait_limit wait_limit;
    /* The copying side writes its next request and the number of its finished copy; the writing
     * side answers. */
    _Alignas(256) _Atomic uint32_t done;
    size_t next_bytes; /* 0: no more */
    _Alignas(256) _Atomic uint32_t written;
    double sample_ns[CPU_COPY_SIZES_MAX][PROBE_STATS_MAX];
    unsigned n[CPU_COPY_SIZES_MAX];
    bool wrong;
};

unsigned cpu_copy_sizes(int64_t beyond, int64_t ret_bytes[CPU_COPY_SIZES_MAX])
{
    int64_t last = beyond > BEYOND / 2 ? (2 * beyond + STAMPS - 1) / STAMPS * STAMPS : BEYOND;
    unsigned count = 0;
    for (int64_t bytes = SMALLEST; bytes < last && count < CPU_COPY_SIZES_MAX - 1; bytes *= 4)
        ret_bytes[count++] = bytes;
    ret_bytes[count++] = last;
    return count;
}

struct cpu_copy *cpu_copy_new(void)
{
    struct cpu_copy *copy = aligned_alloc(256, sizeof *copy);
    if (copy != NULL) {
        memset(copy, 0, sizeof *copy);
        copy->stream = cpu_stream_best();
    }
    return copy;
}

void cpu_copy_free(struct cpu_copy *copy) { free(copy); }

void cpu_copy_begin(struct cpu_copy *copy, const struct cpu_copy_plan *plan)
{
    copy->plan = *plan;
    memcpy(copy->bytes, plan->bytes, plan->sizes * sizeof *plan->bytes);
    memset(copy->n, 0, sizeof copy->n);
    copy->wrong = false;
    atomic_store(&copy->done, 0);
    atomic_store(&copy->written, 0);
    copy->next_bytes = 0;
    /* Bytes of the minimum work: a round to discard and six more. Each writes the source, writes
     * the target, and copies. */
    double bytes = 0;
    for (unsigned i = 0; i < plan->sizes; i++)
        bytes += (double)plan->bytes[i] * 3 * (PROBE_STATS_MIN + 1);
    copy->wait_limit_ns = PROBE_STATS_PATIENCE * plan->budget_ns + (int64_t)(bytes / SLOWEST * 1e9);
    cpu_wait_limit_begin(&copy->wait_limit, copy->wait_limit_ns);
}

int64_t cpu_copy_wait_limit_ns(const struct cpu_copy *copy) { return copy->wait_limit_ns; }

static void write_side(struct cpu_copy *copy)
{
    for (uint32_t number = 1;; number++) {
        for (unsigned spins = 1; atomic_load_explicit(&copy->done, memory_order_acquire) != number;
             spins++)
            if (cpu_wait_limit_ends(&copy->wait_limit, spins))
                return;
        size_t bytes = copy->next_bytes;
        if (bytes == 0)
            return;
        copy->stream->write(copy->plan.source, bytes);
        for (size_t at = 0; at < bytes; at += STAMPS)
            memcpy(copy->plan.source + at, &number, sizeof number);
        atomic_store_explicit(&copy->written, number, memory_order_release);
    }
}

/* Waits until all stores before it are visible. The same barrier as
 * atomic_thread_fence(memory_order_seq_cst), which ThreadSanitizer does not know; nothing that the
 * threads share relies on it. */
static inline void settle_stores(void) { __sync_synchronize(); }

/* Cost of reading the clock as a copy does, with nothing between: the least of many. */
static int64_t clock_cost_ns(void)
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < 64; i++) {
        int64_t start = probe_clock_ns();
        settle_stores();
        int64_t took = probe_clock_ns() - start;
        least = took < least ? took : least;
    }
    return least;
}

/* Makes one copy, from the request for a source to the check of the copied bytes. False when the
 * source does not come. */
static bool copy_once(struct cpu_copy *copy, uint32_t number, size_t bytes, int64_t cost_ns,
                      double *ret_ns)
{
    char *target = copy->plan.target + TARGET_SHIFT;
    copy->next_bytes = bytes;
    atomic_store_explicit(&copy->done, number, memory_order_release);
    copy->stream->write(target, bytes);
    for (unsigned spins = 1; atomic_load_explicit(&copy->written, memory_order_acquire) != number;
         spins++)
        if (cpu_wait_limit_ends(&copy->wait_limit, spins))
            return false;
    int64_t start = probe_clock_ns();
    copy->stream->copy(target, copy->plan.source, bytes);
    settle_stores();
    int64_t took = probe_clock_ns() - start - cost_ns;
    for (size_t at = 0; at < bytes; at += STAMPS)
        copy->wrong |= memcmp(target + at, &number, sizeof number) != 0;
    *ret_ns = took > 0 ? (double)took : 1;
    return true;
}

/* A round copies each size once, in random order; sizes that have enough are left out, and the
 * first round is discarded. */
static void copy_side(struct cpu_copy *copy)
{
    struct probe_random random = {copy->plan.seed};
    int64_t cost_ns = clock_cost_ns(), begin = probe_clock_ns(), spent_ns = 0;
    uint32_t number = 0;
    bool first = true;
    for (unsigned left = copy->plan.sizes; left > 0; first = false) {
        unsigned order[CPU_COPY_SIZES_MAX];
        left = 0;
        for (unsigned i = 0; i < copy->plan.sizes; i++) {
            double sorted[PROBE_STATS_MAX];
            memcpy(sorted, copy->sample_ns[i], sizeof sorted);
            if (probe_stats_enough(sorted, copy->n[i], spent_ns > copy->plan.budget_ns))
                continue;
            unsigned at = (unsigned)probe_random_below(&random, left + 1);
            order[left++] = order[at];
            order[at] = i;
        }
        for (unsigned k = 0; k < left; k++) {
            unsigned i = order[k];
            double took_ns;
            if (cpu_wait_limit_is_reached(&copy->wait_limit) ||
                !copy_once(copy, ++number, (size_t)copy->bytes[i], cost_ns, &took_ns))
                return; /* the writing side returns at its next wait */
            if (!first)
                copy->sample_ns[i][copy->n[i]++] = took_ns;
            spent_ns = probe_clock_ns() - begin;
        }
    }
    copy->next_bytes = 0;
    atomic_store_explicit(&copy->done, number + 1, memory_order_release);
}

void cpu_copy_run_side(void *table, unsigned side)
{
    struct cpu_copy *copy = table;
    if (!cpu_wait_limit_meet(&copy->wait_limit))
        return;
    if (side == 0)
        write_side(copy);
    else
        copy_side(copy);
}

bool cpu_copy_end(struct cpu_copy *copy, struct probe_summary ret_times[CPU_COPY_SIZES_MAX],
                  struct probe_why *why)
{
    if (copy->wrong)
        return probe_why_set(why, "what was copied is not what was written");
    for (unsigned i = 0; i < copy->plan.sizes; i++)
        if (copy->n[i] < PROBE_STATS_MIN)
            return probe_why_set(why,
                                 "only %u copies of %lld bytes within %.0f ms: the two CPUs do not "
                                 "run at the same time",
                                 copy->n[i], (long long)copy->bytes[i],
                                 (double)copy->wait_limit_ns / 1e6);
    for (unsigned i = 0; i < copy->plan.sizes; i++)
        ret_times[i] = probe_stats_quantile(copy->sample_ns[i], copy->n[i], 0.5);
    return true;
}
