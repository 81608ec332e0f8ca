/**
 * Judgement of a node under load: all GPUs and the memory of all NUMA nodes at once. Each place is
 * compared with the others of its kind, and its end with its begin. docs/HEALTH.md has the rules.
 *
 * Pure. Loop thread only while samples are added, any thread afterwards.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "health/assessment.h"
#include "node/graph.h"

#define LOAD_SAMPLES_MAX 8192 /* of a place: intervals */
#define LOAD_REASONS_MAX 8
#define LOAD_PARTS       10

/* A place in one interval. */
struct load_sample {
    double bytes_per_s;
    double flop_per_s;                        /* of products of matrices; NAN none */
    double clock_mhz, power_w, temperature_c; /* NAN unknown */
};

/* A reason that held a place's clocks down. */
struct load_reason {
    char name[32];
    size_t intervals;
};

struct load_place {
    place_id place;
    struct load_sample *sample; /* owned */
    size_t count, room;
    struct load_reason reason[LOAD_REASONS_MAX];
    size_t reason_count;
};

/* The samples of one run. Zeroed: empty; end it with load_done. */
struct load {
    struct load_place *item; /* owned; in the order of their first samples */
    size_t count, room;
};

void load_done(struct load *load);

/* Adds a sample of the place. throttle: reasons that held the clocks down, comma separated; "none"
 * and "" are no reason. Fails with NO_MEMORY, and BAD_DATA above LOAD_SAMPLES_MAX. */
enum berth_code load_add(struct load *load, place_id place, const struct load_sample *sample,
                         const char *throttle, struct berth_err *err);

/* The work of a place. */
enum load_work { LOAD_COPY, LOAD_PRODUCT, LOAD_WORKS };
const char *load_work_name(enum load_work work); /* "copy", "product" */
const char *load_work_unit(enum load_work work); /* "bytes_per_s", "flop_per_s" */

/* One work of one place, in its unit. NAN: too few intervals, or none. */
struct load_series {
    double median;
    double spread;           /* standard deviation from interval to interval */
    double others;           /* median of the other places of its kind */
    double rate[LOAD_PARTS]; /* medians of each tenth of the time */
};

/* Figures of one place. NAN: unknown. */
struct load_figures {
    struct load_series work[LOAD_WORKS];
    double clock_mhz[LOAD_PARTS];  /* medians of each tenth of the time */
    double power_w, temperature_c; /* median, highest */
};

/* Returns the figures of each item of the load, for the caller to free; NULL when out of memory. */
struct load_figures *load_figures(const struct load *load, const struct graph *graph);

/* Judges all places. notes: findings of the run itself, such as a lost GPU, as a snapshot has them.
 * End *ret with assessment_done. Fails only with NO_MEMORY. */
enum berth_code load_assess(const struct load *load, const struct graph *graph,
                            const struct note *notes, size_t note_count, struct assessment *ret,
                            struct berth_err *err);
