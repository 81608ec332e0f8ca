/* A small seeded generator (splitmix64, Steele, Lea and Flood 2014): the same seed gives the same
 * order everywhere. */
#pragma once
#include <stdint.h>

struct probe_random {
    uint64_t state;
};

static inline uint64_t probe_random_next(struct probe_random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* A number from 0 to limit - 1. limit is at least 1 and at most 2^32. The bias of taking the high
 * part matters only far above that. */
static inline uint64_t probe_random_below(struct probe_random *random, uint64_t limit)
{
    return ((probe_random_next(random) >> 32) * limit) >> 32;
}
