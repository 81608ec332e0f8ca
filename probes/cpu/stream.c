#include "cpu/stream.h"

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#define STREAM_NAME(x) avx512_##x
#define STREAM_BYTES   64
#define STREAM_TARGET  __attribute__((target("avx512f")))
#include "cpu/stream_body.h"

#define STREAM_NAME(x) avx2_##x
#define STREAM_BYTES   32
#define STREAM_TARGET  __attribute__((target("avx2")))
#include "cpu/stream_body.h"
#endif

/* SSE2, NEON and VSX are the baseline of their machines. */
#define STREAM_NAME(x) plain_##x
#define STREAM_BYTES   16
#define STREAM_TARGET
#include "cpu/stream_body.h"

static const struct cpu_stream streams[] = {
#if defined(__x86_64__)
    {"avx512", avx512_read, avx512_write, avx512_copy},
    {"avx2", avx2_read, avx2_write, avx2_copy},
#endif
    {"16-byte vectors", plain_read, plain_write, plain_copy},
};

#define STREAM_COUNT (sizeof streams / sizeof *streams)

static bool runs_here(const struct cpu_stream *stream)
{
#if defined(__x86_64__)
    if (stream->read == avx512_read)
        return __builtin_cpu_supports("avx512f") != 0;
    if (stream->read == avx2_read)
        return __builtin_cpu_supports("avx2") != 0;
#endif
    return stream->read == plain_read;
}

const struct cpu_stream *cpu_stream_at(unsigned index)
{
    for (unsigned i = 0; i < STREAM_COUNT; i++)
        if (runs_here(&streams[i]) && index-- == 0)
            return &streams[i];
    return NULL;
}

const struct cpu_stream *cpu_stream_best(void) { return cpu_stream_at(0); }
