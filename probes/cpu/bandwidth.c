#include "cpu/bandwidth.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "cpu/stream.h"

/* Fewest bytes of a thread in a repetition. They take 50 microseconds on a fast core alone, longer
 * when threads share the memory. The barrier takes about one. */
#define PART_BYTES ((size_t)2 << 20)

/* A load waits for an earlier store whose low 12 address bits are the same (4K aliasing). With this
 * distance beyond whole pages those are stores of 56 lines before, which have left the store
 * buffer. */
#define COPY_SHIFT ((size_t)7 * 512)

#define SPINS 10000 /* at a barrier, about 10 microseconds */

struct thread_time {
    _Alignas(128) int64_t start_ns;
    int64_t end_ns;
};

struct stream_run {
    const struct cpu_stream *stream;
    enum cpu_direction direction;
    char *base;
    /* bytes of one thread in one repetition, as they count for the buffer: half of them for a
     * copy */
    size_t part;
    size_t slice;  /* part x threads */
    size_t slices; /* number of slices in the buffer */
    unsigned threads, warm_repetitions;
    int64_t budget_ns;
    struct thread_time *times;
    struct cpu_noise *noise; /* NULL: none */
    bool silent;             /* the noise did not start */
    _Alignas(128) _Atomic unsigned arrived;
    _Alignas(128) _Atomic unsigned phase;
    _Alignas(128) bool more; /* written by thread 0 between two barriers */
    double rate[PROBE_STATS_MAX];
    unsigned n;
};

/* All threads meet; the last one lets them go. */
static void meet(struct stream_run *run)
{
    unsigned phase = atomic_load(&run->phase);
    if (atomic_fetch_add(&run->arrived, 1) + 1 == run->threads) {
        atomic_store(&run->arrived, 0);
        atomic_store(&run->phase, phase + 1);
        return;
    }
    for (unsigned spins = 0; atomic_load(&run->phase) == phase; spins++)
        if (spins > SPINS)
            sched_yield(); /* the last thread may be waiting for this CPU */
}

static void stream_part(const struct stream_run *run, unsigned index, size_t repetition)
{
    size_t slice = repetition % run->slices;
    char *from = run->base + slice * run->slice + index * run->part;
    switch (run->direction) {
    case CPU_READ:
        run->stream->read(from, run->part);
        break;
    case CPU_WRITE:
        run->stream->write(from, run->part);
        break;
    case CPU_COPY:
        /* part and slice are the source's half of the memory; the target has the same */
        run->stream->copy(from + run->slices * run->slice + COPY_SHIFT, from, run->part);
        break;
    }
}

static void take_time(struct stream_run *run)
{
    int64_t start = run->times[0].start_ns, end = run->times[0].end_ns;
    for (unsigned i = 1; i < run->threads; i++) {
        if (run->times[i].start_ns < start)
            start = run->times[i].start_ns;
        if (run->times[i].end_ns > end)
            end = run->times[i].end_ns;
    }
    double bytes = (double)run->slice * (run->direction == CPU_COPY ? 2 : 1);
    run->rate[run->n++] = bytes / (double)(end > start ? end - start : 1) * 1e9;
}

/* After a repetition, thread 0 alone: takes its time unless it was a warm-up or the noise stood
 * still. */
static bool wants_more(struct stream_run *run, size_t repetition, int64_t spent_ns)
{
    bool noisy = run->noise == NULL || cpu_noise_end_window(run->noise);
    if (repetition >= run->warm_repetitions && noisy)
        take_time(run);
    double sorted[PROBE_STATS_MAX];
    memcpy(sorted, run->rate, sizeof sorted);
    return !run->silent && !probe_stats_enough(sorted, run->n, spent_ns > run->budget_ns) &&
           spent_ns < PROBE_STATS_PATIENCE * run->budget_ns;
}

static void stream(struct stream_run *run, unsigned index)
{
    struct thread_time *time = &run->times[index];
    int64_t begin = probe_clock_ns();
    for (size_t repetition = 0;; repetition++) {
        if (index == 0 && run->noise != NULL)
            cpu_noise_begin_window(run->noise);
        meet(run);
        time->start_ns = probe_clock_ns();
        stream_part(run, index, repetition);
        time->end_ns = probe_clock_ns();
        meet(run);
        if (index == 0)
            run->more = wants_more(run, repetition, time->end_ns - begin);
        meet(run);
        if (!run->more)
            return;
    }
}

static void work(void *arg, unsigned index)
{
    struct stream_run *run = arg;
    if (index >= run->threads) {
        cpu_noise_read(run->noise, index - run->threads);
        return;
    }
    if (index == 0)
        run->silent = run->noise != NULL &&
                      !cpu_noise_await(run->noise, PROBE_STATS_PATIENCE * run->budget_ns);
    stream(run, index);
    if (index == 0 && run->noise != NULL)
        cpu_noise_end(run->noise);
}

bool cpu_bandwidth_measure(const struct cpu_bandwidth_request *request,
                           const struct cpu_threads *threads, struct probe_summary *ret_summary,
                           bool *ret_overrun, struct probe_why *why)
{
    unsigned count = request->threads;
    size_t bytes = request->bytes;
    bool copies = request->direction == CPU_COPY;
    struct stream_run run = {.stream = cpu_stream_best(),
                             .direction = request->direction,
                             .base = request->base,
                             .threads = count,
                             .noise = threads->noise,
                             .budget_ns = request->budget_ns};
    *ret_overrun = false;
    size_t usable = copies ? (bytes - COPY_SHIFT) / 2 : bytes;
    run.part = (size_t)request->repetition_bytes / count / CPU_STREAM_ALIGN * CPU_STREAM_ALIGN;
    run.part = (run.part < PART_BYTES ? PART_BYTES : run.part) / (copies ? 2 : 1);
    if (run.part > usable / count)
        run.part = usable / count / CPU_STREAM_ALIGN * CPU_STREAM_ALIGN;
    if (run.part == 0)
        return probe_why_set(why, "%zu bytes are too few for %u threads", bytes, count);
    run.slice = run.part * count;
    run.slices = usable / run.slice;
    run.warm_repetitions =
        1 + (unsigned)((size_t)(request->warm_bytes < 0 ? 0 : request->warm_bytes) / run.slice);
    run.times = aligned_alloc(128, count * sizeof *run.times);
    if (run.times == NULL)
        return probe_why_set(why, "out of memory");
    const struct cpu_work all = {threads->pus,
                                 count + (threads->noise == NULL ? 0 : threads->noise->count), work,
                                 &run, 40 * run.budget_ns + 60000000000};
    bool ran = cpu_workers_run(threads->workers, &all, ret_overrun, why);
    if (!*ret_overrun)
        free(run.times);
    if (!ran)
        return false;
    if (run.silent)
        return probe_why_set(why,
                             "the noise and what it is to disturb do not run at the same time");
    if (run.n < PROBE_STATS_MIN)
        return probe_why_set(why,
                             "only %u repetitions in %.0f ms: the CPUs do not run at the same time",
                             run.n, (double)(PROBE_STATS_PATIENCE * run.budget_ns) / 1e6);
    *ret_summary = probe_stats_quantile(run.rate, run.n, 0.5);
    return true;
}
