/**
 * What a number is expected to be, from its own past: the median and the median absolute deviation
 * (MAD) of the first values since the baseline was begun or accepted. docs/ADVICE.md (Health) has
 * the rule and its reasons.
 *
 * A baseline does not follow the values: when BASELINE_VALUES have come it stands until somebody
 * accepts another one, so that a degradation is found however slowly it comes. Pure; any thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "health/judge_limits.h"
#include "node/values.h"

#define BASELINE_VALUES 16
/* with fewer values nothing is compared, unless they were accepted */
#define BASELINE_READY 5
/* the share of the baseline below which BASELINE_LOW_RUNS runs in a row advise to drain */
#define BASELINE_LOW      0.80
#define BASELINE_LOW_RUNS 3
/* a value whose interval is wider to each side, as a share of it, is not taken in and not counted
 */
#define BASELINE_VAGUE 0.5

/* What is known of one series; what a snapshot has beside each of its values. */
struct baseline {
    double median; /* in the metric's unit */
    /* 1.4826 of the MAD, of all values or from each to the next, whichever is less; between
     * logarithms, times the median */
    double deviation;
    int64_t begun_s; /* when its first value was measured, or when it was accepted */
    uint8_t count;   /* of values; 0: there is no baseline */
    /* in how many runs up to the latest the value was under BASELINE_LOW of the median; stays at
     * 255 */
    uint8_t low_runs;
    /* somebody said that this is as it should be: compared from the first value on */
    bool accepted;
    bool is_worse;      /* the latest value was worse than it should be */
    bool is_overloaded; /* the latest value is of a run on a node with more work than CPUs */
};

/* The values behind a baseline, in the order in which they came. */
struct baseline_values {
    double value[BASELINE_VALUES];
};

enum baseline_verdict { BASELINE_NONE, BASELINE_IN_LINE, BASELINE_WORSE, BASELINE_BETTER };

/* NONE: no baseline that can be compared with, or this kind is not compared. WORSE: by more than
 * the share and by more than limits->mads robust standard deviations, for the value and for the
 * better end of its interval; when the latest one before was worse, half of both limits is enough
 * and the interval excuses only when it reaches what is expected. BETTER likewise, by the worse
 * end. The value must be a measured number. */
enum baseline_verdict baseline_compare(const struct baseline *baseline, const struct value *v,
                                       const struct judge_limits *limits);

/* Returns the value beyond which the verdict is WORSE (or BETTER), provided that the previous
 * value's was not. NAN when the metric is not compared. */
double baseline_worse_beyond(const struct baseline *baseline, enum metric metric,
                             const struct judge_limits *limits);
double baseline_better_beyond(const struct baseline *baseline, enum metric metric,
                              const struct judge_limits *limits);

/* How good value is, as a share of what is expected: 1 as expected, 0.5 half as good. */
double baseline_goodness(enum metric metric, double value, double expected);

/* A new value of the series, measured at v->measured_at_s, on a node that was overloaded or not: it
 * is compared, counted as low or not (a low one of an overloaded node or with a vague interval
 * leaves the count as it is), and taken in when it is not worse than it should be and there is
 * room. */
void baseline_take(struct baseline *baseline, struct baseline_values *values, const struct value *v,
                   bool is_overloaded, const struct judge_limits *limits);

/* Known to half only: it says little of what to expect, or of how low it is. */
bool baseline_is_vague(const struct value *v);

/* A complete enough baseline that the value is in line with: accepting the value leaves it as it
 * is. */
bool baseline_is_confirmed_by(const struct baseline *baseline, const struct value *v,
                              const struct judge_limits *limits);

/* This value, at now_s, is what is expected from now on: a baseline that it confirms stays as it
 * is, any other begins anew with it, and has the spread of the one before until it has
 * BASELINE_READY values. */
void baseline_accept(struct baseline *baseline, struct baseline_values *values,
                     const struct value *v, const struct judge_limits *limits, int64_t now_s);

/* median and deviation of the first baseline->count values. */
void baseline_compute(struct baseline *baseline, const struct baseline_values *values);
