/**
 * Noise: cores that read a part of a memory without a pause while others are measured.
 *
 * The readers run in the same piece of work as the measured threads (cpu_workers_run) and end with
 * it. The measured side reads their counters before and after each of its repetitions. A repetition
 * in which a reader made no progress is not used. The rate of the noise is that of its reads during
 * the used repetitions.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/stats.h"
#include "common/why.h"
#include "cpu/workers.h"

#define CPU_NOISE_STEP    ((size_t)16 << 10) /* bytes that a reader reads between two counts */
#define CPU_NOISE_WINDOWS 200

struct cpu_noise_reader {
    _Alignas(128) _Atomic uint64_t bytes;
    uint64_t before; /* bytes at the begin of the window; for the measured side */
};

struct cpu_noise {
    const int *pus; /* borrowed: the CPUs of the readers */
    unsigned count;
    const char *base; /* memory of the readers; each cycles through its own part */
    size_t part;
    struct cpu_noise_reader *reader; /* owned */
    atomic_bool ended;
    int64_t window_ns; /* begin of the window */
    double rate[CPU_NOISE_WINDOWS];
    unsigned windows;
};

/* Threads of a measurement, all borrowed. The first of pus belong to the measured threads, the next
 * ones to the noise's readers. */
struct cpu_threads {
    struct cpu_workers *workers;
    const int *pus;
    struct cpu_noise *noise; /* NULL none */
};

/* Fails when the bytes are too few for this many readers, or out of memory. */
bool cpu_noise_init(struct cpu_noise *noise, const int *pus, unsigned count, const char *base,
                    size_t bytes, struct probe_why *why);
void cpu_noise_done(struct cpu_noise *noise);

/* Runs a reader: does not return before cpu_noise_end. */
void cpu_noise_read(struct cpu_noise *noise, unsigned index);

/* Functions of the measured side, one thread. await: false when not all readers read within
 * limit_ns. */
bool cpu_noise_await(const struct cpu_noise *noise, int64_t limit_ns);
void cpu_noise_begin_window(struct cpu_noise *noise);
/* Ends a window. True when every reader made progress since it began; only then it counts for the
 * rate. */
bool cpu_noise_end_window(struct cpu_noise *noise);
void cpu_noise_end(struct cpu_noise *noise);

/* Bytes per second of all readers together: the median over the windows. At least one must have
 * counted. */
struct probe_summary cpu_noise_rate(struct cpu_noise *noise);
