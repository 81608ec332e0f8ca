/**
 * Measurements in one snapshot that say the same thing, twice: which contradict each other, and how
 * far the others are apart. An interval of repetitions does not contain the change from one run to
 * the next; values measured minutes or places apart show it.
 *
 * Pure; any thread.
 */
#pragma once
#include "node/graph.h"
#include "node/sets.h"
#include "node/values.h"

/* A run in which a transfer got clearly more, or alone clearly another rate, than its own value, as
 * after a change of hardware. The value counts then, and the run says nothing of shared limits. */
struct contradiction {
    const struct value *value; /* NULL: the run contradicts none */
    size_t flow;               /* of the run */
};

/* Writes one for each set to ret. False when out of memory. */
bool agreement_contradictions(const struct values *values, const struct sets *sets,
                              struct contradiction *ret);

#define AGREE_KINDS 4 /* the kinds of transfers that have values */

/* Relative deviations; 0 unknown. */
struct agreement {
    /* between a rate and the same in a run of one, beyond their own intervals */
    double rate;
    /* deviation between start-up times by callers' clocks: of one metric and axes, between other
     * places of the same kinds */
    double call;
    uint32_t rates, calls; /* how many show it */
    /* deviation of one repetition from the next, of large transfers: geometric mean */
    double one;
};

/* Fills one for each kind. sets NULL: none. contradiction: one for each set; these count only while
 * most others of their kind contradict, too. */
void agreement_find(const struct graph *graph, const struct values *values, const struct sets *sets,
                    const struct contradiction *contradiction, struct agreement ret[AGREE_KINDS]);

/* Returns the deviation of one repetition from the next in a metric's values of GPUs, relative:
 * geometric mean; 0 unknown. */
double agreement_of_repetitions(const struct graph *graph, const struct values *values,
                                enum metric metric);

/* Returns that of a kind (one bit of enum transfer_kind); NULL for network and none. */
const struct agreement *agreement_of(const struct agreement all[AGREE_KINDS], unsigned kind);
