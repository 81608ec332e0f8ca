/* A seeded generator (xorshift64, Marsaglia 2003): the same seed gives the same tests everywhere.
 */
#pragma once
#include <stdint.h>

/* seed is not 0. */
static inline uint64_t random_next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}
