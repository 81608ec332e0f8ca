/*
 * The streaming loops for one vector width. cpu/stream.c includes it once for each width with
 * STREAM_NAME(x), STREAM_BYTES and STREAM_TARGET defined, which it undefines.
 *
 * Accesses are volatile so that compilers keep each of them. Else they would replace the loops by
 * memset and memcpy, which choose non-temporal stores by size. Lengths are multiples of 8 vectors;
 * pointers are aligned to one.
 */
typedef uint64_t STREAM_NAME(vector) __attribute__((vector_size(STREAM_BYTES)));

STREAM_TARGET static void STREAM_NAME(read)(const char *from, size_t bytes)
{
    const volatile STREAM_NAME(vector) *p = (const void *)from, *end = (const void *)(from + bytes);
    for (; p < end; p += 8) {
        (void)p[0], (void)p[1], (void)p[2], (void)p[3];
        (void)p[4], (void)p[5], (void)p[6], (void)p[7];
    }
}

STREAM_TARGET static void STREAM_NAME(write)(char *to, size_t bytes)
{
    volatile STREAM_NAME(vector) *p = (void *)to, *end = (void *)(to + bytes);
    const STREAM_NAME(vector) value = {1};
    for (; p < end; p += 8) {
        p[0] = value, p[1] = value, p[2] = value, p[3] = value;
        p[4] = value, p[5] = value, p[6] = value, p[7] = value;
    }
}

STREAM_TARGET static void STREAM_NAME(copy)(char *to, const char *from, size_t bytes)
{
    volatile STREAM_NAME(vector) *p = (void *)to, *end = (void *)(to + bytes);
    const volatile STREAM_NAME(vector) *q = (const void *)from;
    for (; p < end; p += 8, q += 8) {
        p[0] = q[0], p[1] = q[1], p[2] = q[2], p[3] = q[3];
        p[4] = q[4], p[5] = q[5], p[6] = q[6], p[7] = q[7];
    }
}

#undef STREAM_NAME
#undef STREAM_BYTES
#undef STREAM_TARGET
