/**
 * Sizes at which the best mechanism of a transfer changes, and at which a piece of it is large
 * enough, from the measured curves of time over bytes; how many streams its pieces gain from. Pure;
 * any thread.
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

/* Streams with which pieces of a copy are fastest; value NULL: not measured. */
struct tuned_sizes_streams {
    int count;
    const struct value *value, *next; /* its rate, and the highest of the others; NULL none */
};

/* Finds the fewest streams whose rate is within 1 % of the highest, or not below it for certain,
 * among the measured values of copy_streams between the two memories. */
struct tuned_sizes_streams tuned_sizes_streams(const struct values *values, place_id from,
                                               place_id to);
