/**
 * Streams of bytes that begin together and share limits max-min fairly: nobody gets less than another who could do with less. Rates are found anew whenever one ends.
 * Numbers only; plan_load.h knows what they are. Pure; allocates nothing but its scratch.
 *
 * All streams move from the same moment on; what starting one costs is added to its end. That is right to the differences between those costs.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "resource_fit.h"

#define LOAD_NO_LIMIT UINT16_MAX

/* What several streams share. */
struct load_limit {
    const struct resource_step *step; /* ascending by flows; before the first there is no limit */
    size_t step_count;
    unsigned apart; /* bits of kinds: streams all of one of these kinds are not limited by it */
};

struct load_stream {
    double start_ns;      /* what starting it costs */
    double bytes_per_s;   /* alone; above 0 */
    double bytes;
    const uint16_t *use;  /* the limits that it uses, each once */
    unsigned use_count;
    unsigned kind;        /* one bit */
    double end_ns;        /* result */
    uint16_t shared;      /* result: the limit that slowed it last, LOAD_NO_LIMIT none */
};

struct load_share;

/* For so many limits, streams, and limits that one stream uses. NULL when out of memory. */
struct load_share *load_share_new(size_t limits, size_t streams, size_t uses);
void load_share_free(struct load_share *share); /* NULL is fine */

/* Says what it took: streams looked at, each as often as rates were found. */
size_t load_share_run(struct load_share *share, const struct load_limit *limits, struct load_stream *streams, size_t count);

/* What the fullest limit needs for all bytes that go through it, by its highest capacity; 0 when none limits. Never more than the latest end less what starting costs. */
double load_share_least_ns(struct load_share *share, const struct load_limit *limits, const struct load_stream *streams, size_t count);
