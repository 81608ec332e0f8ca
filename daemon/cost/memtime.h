/**
 * What using memory takes: the median with its 95 % interval, by which allocations are compared,
 * and how far off one more time may be, which is what a prediction is asked for.
 *
 * Parts that follow each other add up: the medians' ends, because what was measured wrong stays
 * wrong, and the squares of how far off one more of each may be. NAN where unknown. Pure.
 */
#pragma once
#include <stdint.h>

#include "cost/evidence.h"

struct memtime {
    double time_ns, low_ns, high_ns; /* of the median */
    /* the squares of how much less and more time one more may take */
    double below, above;
};

/* Nothing is known. */
struct memtime memtime_unknown(void);

/* By a figure without an interval. */
struct memtime memtime_bare(double time_ns);

/* A time whose interval follows from one cell's median of n repetitions (0: not known): once, or
 * the mean of rounds repetitions. like: as of spread_cell_among. */
struct memtime memtime_of(double time_ns, double low_ns, double high_ns, uint32_t n, double like,
                          double rounds);

/* The same where it is known already by what share one more may be off: half of the interval over
 * the time. */
struct memtime memtime_within(double time_ns, double low_ns, double high_ns, double spread);

struct memtime memtime_sum(struct memtime a, struct memtime b);

/* The interval of the median. */
struct prediction memtime_median(const struct memtime *time);

/* That of one more time. */
struct prediction memtime_once(const struct memtime *time);
