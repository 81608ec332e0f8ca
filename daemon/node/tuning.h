/**
 * Tuned launch shapes of kernels, as the GPU probe finds them for each model of GPUs, and the
 * conditions under which they were found.
 *
 * They are text: the condition "shapes" of a run, in sections separated by "; ", of which
 * probes/gpu/timing/launch_shapes.h tells the form. A section that does not read as one is as none.
 * Pure; any thread.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "node/graph.h"

/* Seconds that a tuned result holds; the next run of the probe tunes an older one anew. */
#define TUNING_FRESH_S   (INT64_C(7) * 86400)
#define TUNING_WHY_SIZE  160
#define TUNING_TEXT_SIZE 8192 /* a longer text is as none; twice the size of the probe's */

/* One shape with the rates in bytes/s that it reached then: the median, lowest and highest of its
 * repetitions, and the median of the fastest other shape. NAN unknown. */
struct tuning {
    unsigned block, grid, unroll; /* grid 0: as many blocks as the bytes need */
    double bytes_per_s, low, high, next_bytes_per_s;
    int64_t tuned_at_s;                 /* 0 unknown */
    int64_t power_cap_w, clock_max_mhz; /* limits then; below 0 unknown */
    char version[32];                   /* of the kernel's driver; "" unknown */
    char timed[2]
              [24]; /* the GPU and the memory that were timed, by the probe's names; "" unknown */
};

/* Finds the shape of a use, such as "peer-copy", for a model. shapes and model may be NULL. False
 * when there is none. */
bool tuning_find(const char *shapes, const char *model, const char *use, struct tuning *ret);

/* Returns the sections of after, and those of before about models and memories that after lacks, in
 * new text that the caller frees. Both may be NULL. NULL when there is none, or out of memory. */
char *tuning_merge(const char *before, const char *after);

/* True when the result no longer holds for the GPU's model, with the reason: it is older than
 * TUNING_FRESH_S at now_s or as far ahead of it (0: no age counts), or of an unknown age, or the
 * driver's version, power cap or highest clock is another. The first GPU of a model tunes for all,
 * so its limits count. An unknown limit is no reason. */
bool tuning_is_stale(const struct tuning *tuning, const struct graph *graph, place_id gpu,
                     int64_t now_s, char why[TUNING_WHY_SIZE]);

/* True when a section no longer holds. */
bool tuning_is_due(const char *shapes, const struct graph *graph, int64_t now_s);
