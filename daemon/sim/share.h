/**
 * Streams of bytes that begin together and share limits max-min fairly: nobody gets less than
 * another who could do with less. Rates are found anew whenever one ends. Numbers only; cost/load.h
 * knows what they are. Pure; allocates nothing but its scratch.
 *
 * Of more than 256 streams those that end soon after each other free what they had together, so
 * that thousands take milliseconds: ends are late by a percent or so then, never early.
 *
 * What starting a stream costs is added to its end; only what passes before its bytes move because
 * its caller starts others first (begin_ns) is waited for before it shares anything. That is right
 * to the differences between those costs.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/stream.h"

/* What several streams share. */
struct load_limit {
    const struct resource_step *step; /* ascending by flows; before the first there is no limit */
    size_t step_count;
    /* by the number of a kind's bit: up to so many streams, all of that kind, are not limited by
     * it; NULL any are */
    const unsigned *apart;
};

/* Streams that were measured together, and that no limits explain: each ends no sooner than at the
 * rate that it got. */
struct load_seen {
    const uint32_t *who;       /* ascending; nothing twice */
    const double *bytes_per_s; /* of each */
    size_t count;
    const void *data; /* the caller's */
};

/* How what is full is shared: max-min fairly; or who stands first takes all that it can, in the
 * order of the streams or the other way round. */
enum load_share_order { LOAD_SHARE_FAIR, LOAD_SHARE_FIRST, LOAD_SHARE_LAST };

struct load_share;

/* For so many limits, streams, limits that one stream uses, and whos (from 1 on). NULL when out of
 * memory. */
struct load_share *load_share_new(size_t limits, size_t streams, size_t uses, size_t whos);
void load_share_free(struct load_share *share); /* NULL is fine */

/* What load_share_run looks at from then on: known's count of them, which outlive it; and how what
 * is full is shared, fairly as long as nothing else is said. */
void load_share_set_seen(struct load_share *share, const struct load_seen *known, size_t count);
void load_share_set_order(struct load_share *share, enum load_share_order order);

/* Says what it took: streams looked at, each as often as rates were found. */
size_t load_share_run(struct load_share *share, const struct load_limit *limits,
                      struct load_stream *streams, size_t count);

/* What the fullest limit needs for all bytes that go through it, by its highest capacity; 0 when
 * none limits. Never more than the latest end less what starting costs. */
double load_share_least_ns(struct load_share *share, const struct load_limit *limits,
                           const struct load_stream *streams, size_t count);
