/* A seeded generator (xorshift64, Marsaglia 2003): the same seed gives the same tests everywhere.
 */
#pragma once
#include <stdint.h>

/* 64 bits (xorshift64, Marsaglia 2003); seed is not 0. */
static inline uint64_t random_next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Above 0 and below 1 (Knuth's linear congruential generator, MMIX). */
static inline double random_uniform(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return ((double)(*seed >> 11) + 0.5) * 0x1p-53;
}

/* 24 bits (linear congruential generator of Numerical Recipes). */
static inline uint32_t random_small(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}
