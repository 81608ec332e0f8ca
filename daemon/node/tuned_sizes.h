/**
 * Sizes at which the best mechanism of a transfer changes, and at which a piece of it is large
 * enough, from the measured curves of time over bytes. Pure; any thread.
 */
#pragma once
#include "node/curve.h"

/* Share of its highest rate that a mechanism reaches with pieces of the found size. */
#define TUNED_SIZES_SHARE 0.95

/* Size from which the other mechanism is faster, for one call by the caller's clock. */
struct tuned_sizes_threshold {
    double bytes;         /* from here on, for certain; NAN: nowhere */
    double certain_below; /* the largest size at which the first is faster for certain; NAN */
    bool is_kernel_below, is_kernel_above; /* else the copy engine; the same where bytes is NAN */
    bool is_certain;                       /* false: the intervals never tell them apart */
    double bytes_per_s, low, high, next_bytes_per_s; /* at bytes: the faster, and the other; NAN */
    const char *why_not;                             /* static; NULL: bytes is a number */
};

/* Finds it among the sizes that both cover; engine and kernel may be NULL. */
struct tuned_sizes_threshold tuned_sizes_threshold(const struct curves *curves,
                                                   const struct curve *engine,
                                                   const struct curve *kernel);

/* Returns the smallest power of two among the measured sizes at which transfers one behind another
 * reach TUNED_SIZES_SHARE of the highest rate; NAN when none does. */
double tuned_sizes_chunk(const struct curve *curve);
