#include "cpu/noise.h"

#include <sched.h>
#include <stdlib.h>

#include "common/clock.h"
#include "cpu/stream.h"

bool cpu_noise_init(struct cpu_noise *noise, const int *pus, unsigned count, const char *base,
                    size_t bytes, struct probe_why *why)
{
    size_t part = bytes / count / CPU_NOISE_STEP * CPU_NOISE_STEP;
    if (part == 0)
        return probe_why_set(why, "%zu bytes are too few for noise by %u cores", bytes, count);
    struct cpu_noise_reader *reader =
        aligned_alloc(_Alignof(struct cpu_noise_reader), count * sizeof *reader);
    if (reader == NULL)
        return probe_why_set(why, "out of memory");
    *noise = (struct cpu_noise){
        .pus = pus, .count = count, .base = base, .part = part, .reader = reader};
    for (unsigned i = 0; i < count; i++) {
        atomic_init(&reader[i].bytes, 0);
        reader[i].before = 0;
    }
    return true;
}

void cpu_noise_done(struct cpu_noise *noise)
{
    free(noise->reader);
    noise->reader = NULL;
}

void cpu_noise_read(struct cpu_noise *noise, unsigned index)
{
    const struct cpu_stream *stream = cpu_stream_best();
    const char *own = noise->base + index * noise->part;
    struct cpu_noise_reader *reader = &noise->reader[index];
    uint64_t bytes = 0;
    for (size_t at = 0; !atomic_load_explicit(&noise->ended, memory_order_relaxed);
         at = (at + CPU_NOISE_STEP) % noise->part) {
        stream->read(own + at, CPU_NOISE_STEP);
        bytes += CPU_NOISE_STEP;
        atomic_store_explicit(&reader->bytes, bytes, memory_order_relaxed);
    }
}

static uint64_t bytes_of(const struct cpu_noise *noise, unsigned index)
{
    return atomic_load_explicit(&noise->reader[index].bytes, memory_order_relaxed);
}

bool cpu_noise_await(const struct cpu_noise *noise, int64_t limit_ns)
{
    int64_t until = probe_clock_ns() + limit_ns;
    for (unsigned i = 0; i < noise->count; i++)
        while (bytes_of(noise, i) == 0) {
            if (probe_clock_ns() > until)
                return false;
            sched_yield();
        }
    return true;
}

void cpu_noise_begin_window(struct cpu_noise *noise)
{
    for (unsigned i = 0; i < noise->count; i++)
        noise->reader[i].before = bytes_of(noise, i);
    noise->window_ns = probe_clock_ns();
}

bool cpu_noise_end_window(struct cpu_noise *noise)
{
    int64_t took_ns = probe_clock_ns() - noise->window_ns;
    uint64_t read = 0;
    bool all = true;
    for (unsigned i = 0; i < noise->count; i++) {
        uint64_t more = bytes_of(noise, i) - noise->reader[i].before;
        all &= more > 0;
        read += more;
    }
    if (all && noise->windows < CPU_NOISE_WINDOWS)
        noise->rate[noise->windows++] = (double)read / (double)(took_ns > 0 ? took_ns : 1) * 1e9;
    return all;
}

void cpu_noise_end(struct cpu_noise *noise) { atomic_store(&noise->ended, true); }

struct probe_summary cpu_noise_rate(struct cpu_noise *noise)
{
    return probe_stats_quantile(noise->rate, noise->windows, 0.5);
}
