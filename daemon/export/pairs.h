/**
 * Rates between pairs of GPUs, and groups of GPUs that are equally near to each other. Measured and
 * published values count, nominal ones do not.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "node/snapshot.h"

struct export_pairs {
    place_id *gpu; /* owned; GPUs that programs can use, by number */
    size_t count;
    double *rate;     /* owned; count x count: of the slower direction, NAN unknown */
    bool is_measured; /* true: no rate is a published one */
};

/* Reads the pairs of a snapshot. Returns false when out of memory. End with export_pairs_done. */
bool export_pairs_init(struct export_pairs *pairs, const struct snapshot *snap);
void export_pairs_done(struct export_pairs *pairs);

/* Finds the slowest pair, or with gpu (an index) that of this GPU; false where no rate is known. */
#define EXPORT_PAIRS_ANY SIZE_MAX
bool export_pairs_slowest(const struct export_pairs *pairs, size_t gpu, size_t *ret_a,
                          size_t *ret_b);

/* Finds the next class of rates below this one (INFINITY: the first): rates within 10 % of its
 * fastest. Returns its slowest rate, NAN where there is none. */
double export_pairs_class(const struct export_pairs *pairs, double below);

/* Writes to leader, by index, the first GPU of the group: GPUs with at least this rate between any
 * two of them. Returns false where GPUs form no such groups, so that one would be in two. */
bool export_pairs_groups(const struct export_pairs *pairs, double least, size_t *leader);
