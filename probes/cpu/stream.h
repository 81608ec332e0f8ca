/* The loops that read, write and copy memory in order, with the widest vectors that the CPU has and
 * normal stores. */
#pragma once
#include <stddef.h>

#define CPU_STREAM_ALIGN 512 /* pointers and lengths are multiples of this */

struct cpu_stream {
    const char *name; /* "avx512", "avx2", "16-byte vectors" */
    void (*read)(const char *from, size_t bytes);
    void (*write)(char *to, size_t bytes);
    void (*copy)(char *to, const char *from, size_t bytes);
};

/* The fastest loops for this CPU; never NULL. */
const struct cpu_stream *cpu_stream_best(void);

/* The index-th loops that this CPU can run, for tests and comparison; NULL past the last. The last
 * uses the narrowest vectors. */
const struct cpu_stream *cpu_stream_at(unsigned index);
