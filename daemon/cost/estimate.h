/**
 * An estimate: the time of a transfer or an access, its 95 % interval, and the source of the
 * number. Pure.
 */
#pragma once
#include <math.h>

#include "node/reasons.h"
#include "node/values.h"

/* Sources in ascending doubt. An estimate made of several parts has the source of the most doubtful
 * one that matters. */
enum source {
    SOURCE_MEASURED,          /* of just that, on this node */
    SOURCE_SIMILAR_PAIR,      /* of another pair of the same kinds and models */
    SOURCE_REVERSE_DIRECTION, /* of the same pair in the other direction */
    SOURCE_PUBLISHED,         /* of such hardware, in a paper or a datasheet that measured it */
    SOURCE_NOMINAL,           /* stated by firmware, driver or links, scaled by known efficiency */
    SOURCE_LOWER_BOUND        /* it takes at least so long */
};

static inline enum source estimate_worse(enum source a, enum source b) { return a > b ? a : b; }

/* Returns the source of a value that is of just that transfer. */
static inline enum source estimate_source(const struct value *value)
{
    return value->source == VALUE_MEASURED    ? SOURCE_MEASURED
           : value->source == VALUE_PUBLISHED ? SOURCE_PUBLISHED
                                              : SOURCE_NOMINAL;
}

struct estimate {
    double time_ns;         /* NAN: nothing known predicts it */
    double low_ns, high_ns; /* NAN: no interval */
    enum source source;
    const struct value *value; /* the number that decides, of the snapshot; NULL none */
    enum reason_code why;      /* the doubt about the most doubtful part; 0 none */
};

static inline struct estimate estimate_of(double time_ns, double low_ns, double high_ns)
{
    return (struct estimate){.time_ns = time_ns, .low_ns = low_ns, .high_ns = high_ns};
}

/* Returns it with a doubt, and a source that is at least so doubtful. */
static inline struct estimate estimate_doubted(struct estimate estimate, enum source source,
                                               enum reason_code why)
{
    estimate.why =
        why != 0 && (source >= estimate.source || estimate.why == 0) ? why : estimate.why;
    estimate.source = estimate_worse(estimate.source, source);
    return estimate;
}

/* Returns the sum of parts that follow each other. Deviations of a sum are added: what is off in
 * one measurement may be off in all. */
static inline struct estimate estimate_sum(struct estimate a, struct estimate b)
{
    struct estimate sum = {.time_ns = a.time_ns + b.time_ns,
                           .low_ns = a.low_ns + b.low_ns,
                           .high_ns = a.high_ns + b.high_ns,
                           .source = a.source,
                           .value = a.time_ns >= b.time_ns ? a.value : b.value,
                           .why = a.why};
    return estimate_doubted(sum, b.source, b.why);
}

/* Returns one more repetition of it. By numbers that are nominal, or a lower bound, it takes at
 * least so long. */
static inline struct estimate estimate_at_least(struct estimate estimate)
{
    if (estimate.source >= SOURCE_NOMINAL) {
        estimate.low_ns = estimate.time_ns;
        estimate.high_ns = NAN;
    }
    return estimate;
}
