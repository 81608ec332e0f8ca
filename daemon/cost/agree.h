/**
 * Agreement: how far apart are measurements in one snapshot that say the same thing. An interval of
 * repetitions that follow each other knows nothing of what changes from one run to the next; what
 * was measured twice, minutes or places apart, does.
 *
 * Pure; any thread.
 */
#pragma once
#include "cost/contradict.h"
#include "node/graph.h"
#include "node/sets.h"
#include "node/values.h"

#define AGREE_KINDS 4 /* the bits of enum transfer_kind that have values */

struct agreement {
    /* deviation between a rate and the same measured among concurrent ones, one at a time, beyond
     * what their own intervals explain; relative; 0 nothing was measured twice */
    double rate;
    /* deviation between what callers see of starting transfers of the same metric and axes
     * between other places of the same kinds; relative; 0 nothing is alike */
    double call;
    uint32_t rates, calls; /* how many say so */
    /* deviation of one repetition from the next, of large transfers one at a time, relative:
     * their mean by factors, so that a few disturbed ones do not count; 0 none has an interval */
    double one;
};

/* By kind, ascending. sets NULL: none. contradiction: one for each set (NULL: none is known); those
 * do not count as long as as many others agree. */
void agree_find(const struct graph *graph, const struct values *values, const struct sets *sets,
                const struct contradiction *contradiction, struct agreement ret[AGREE_KINDS]);

/* Deviation of one repetition from the next in gpus' own memory, relative, of such a metric
 * (memory_bandwidth, gpu_stream): the mean by factors of what was measured there; 0 nothing was. */
double agree_own(const struct graph *graph, const struct values *values, enum metric metric);

/* Of one kind (one bit of enum transfer_kind); NULL for nics, of which nothing is measured. */
const struct agreement *agree_of(const struct agreement all[AGREE_KINDS], unsigned kind);
