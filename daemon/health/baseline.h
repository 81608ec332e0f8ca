/**
 * Expected value of one series, from its own past. It consists of median and median absolute
 * deviation (MAD) of its first values. They count from the time when the baseline was begun or
 * accepted. docs/HEALTH.md has the rule and its reasons.
 *
 * A baseline does not follow the values. After BASELINE_VALUES values it is fixed until a user
 * accepts another one. So a degradation is found however slow it is. Pure; any thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "health/limits.h"
#include "node/values.h"

#define BASELINE_VALUES 16
/* least number of values that are compared, unless they were accepted */
#define BASELINE_READY 5
/* fraction of the baseline below which BASELINE_LOW_RUNS successive runs advise to drain */
#define BASELINE_LOW      0.80
#define BASELINE_LOW_RUNS 3
/* largest half width of an interval, as a fraction of the value, that is added and counted */
#define BASELINE_VAGUE 0.5

/* Baseline of one series. A snapshot has one beside each of its values. */
struct baseline {
    double median; /* in the metric's unit */
    /* 1.4826 times the MAD of all values or of successive differences, the smaller one; computed
     * from logarithms, times the median */
    double deviation;
    int64_t begun_s; /* time when its first value was measured, or when it was accepted */
    uint8_t count;   /* number of values; 0 no baseline */
    /* number of successive runs up to the latest below BASELINE_LOW of the median; at most 255 */
    uint8_t low_runs;
    /* accepted by a user as expected: compared from the first value on */
    bool accepted;
    /* number of successive values up to the latest beyond the limit on the worse side; 1 waits for
     * a second look; at most 255 */
    uint8_t worse_runs;
    bool is_overloaded; /* the latest run was on a node with more runnable work than CPUs */
};

/* Values of a baseline, in the order of measurement. */
struct baseline_values {
    double value[BASELINE_VALUES];
};

enum baseline_verdict { BASELINE_NONE, BASELINE_IN_LINE, BASELINE_WORSE, BASELINE_BETTER };

/* Compares a measured value (a number) with the baseline.
 * - NONE: the baseline has too few values, or metrics of this kind are not compared.
 * - WORSE: worse by more than the configured fraction and limits->mads robust standard
 *   deviations. Both hold for the value and for the better end of its interval. After limits->looks
 *   worse values, half of both limits suffices. Then the interval excuses the value only if it
 * reaches the expected value.
 * - BETTER: the same on the other side, with the worse end of the interval. */
enum baseline_verdict baseline_compare(const struct baseline *baseline, const struct value *v,
                                       const struct health_limits *limits);

/* Returns the value beyond which the verdict is WORSE (or BETTER) if the previous one was not. NAN
 * when the metric is not compared. */
double baseline_worse_beyond(const struct baseline *baseline, enum metric metric,
                             const struct health_limits *limits);
double baseline_better_beyond(const struct baseline *baseline, enum metric metric,
                              const struct health_limits *limits);

/* Returns the probability, for each value of a sound series, that it and the next one
 * (limits->looks in all) are beyond the limit on the worse side, which is a finding. NAN when the
 * metric is not compared, or the spread is unknown: fewer than BASELINE_READY values.
 *
 * Noise is Tukey's contaminated normal distribution: one value in twenty is three times as far out
 * (A survey of sampling from contaminated distributions, 1960). The probability of one look is its
 * tail Q((L - m)/s). Spread s and offset m of the median are known from few values only, so the
 * result is the expectation over both. The logarithm of s is normal around the measured one with
 * variance 1/(2 * 0.37 * n), m with variance s^2/(0.64 * n): efficiencies of MAD and median
 * (Rousseeuw and Croux, JASA 88, 1993). The interval of a value is not counted, as it only
 * excuses. */
double baseline_false_alarm_rate(const struct baseline *baseline, enum metric metric,
                                 const struct health_limits *limits);

/* Returns the value's quality as a fraction of the expected one: 1 as expected, 0.5 half as
 * good. */
double baseline_goodness(enum metric metric, double value, double expected);

/* Circumstances of a new value. */
struct baseline_look {
    bool is_overloaded; /* measured on a node with more runnable work than CPUs */
    bool is_bad;        /* a finding calls it worse than it should be, by whatever rule */
};

/* Compares a new value of the series, measured at v->measured_at_s, with its baseline and counts it
 * if it is low. The count ignores low values of an overloaded node and of vague intervals. Adds the
 * value to the baseline if it is not worse than expected and there is room. A bad value is no part
 * of what is expected, unless a user has accepted the series. */
void baseline_record(struct baseline *baseline, struct baseline_values *values,
                     const struct value *v, struct baseline_look look,
                     const struct health_limits *limits);

/* True when the interval is wider than BASELINE_VAGUE to each side: too uncertain to count. */
bool baseline_is_vague(const struct value *v);

/* True when the value is in line with a complete baseline, so that accepting it changes no
 * expected value. */
bool baseline_is_confirmed_by(const struct baseline *baseline, const struct value *v,
                              const struct health_limits *limits);

/* Makes this value the expected one from now_s on. A baseline that it confirms keeps its values,
 * accepted. Any other is replaced, with the old spread until it has BASELINE_READY values. */
void baseline_accept(struct baseline *baseline, struct baseline_values *values,
                     const struct value *v, const struct health_limits *limits, int64_t now_s);

/* Computes median and deviation of the first baseline->count values. */
void baseline_compute(struct baseline *baseline, const struct baseline_values *values);

/* health/baseline_set.c: baselines by series, for import into and export from the store. */

#define EXPECTED_TEXT_SIZE 64

/* Hardware that belongs to the baselines. */
struct expected_place {
    char identity[EXPECTED_TEXT_SIZE]; /* PCI address, or the place's name if it has none */
    char kind[16], place[20];
    char model[EXPECTED_TEXT_SIZE]; /* "" unknown */
    int64_t seen_s;                 /* time when it was first found */
};

struct baseline_set {
    /* keys, one item for each series in the order of adding: metric, from, to, axes; never
     * finished */
    struct values *values;
    struct baseline *baseline;       /* by item */
    struct baseline_values *samples; /* by item */
    size_t room;
    struct expected_place *place; /* hardware that was measured */
    size_t place_count, place_room;
};

bool baseline_set_init(struct baseline_set *set); /* false when out of memory */
void baseline_set_done(struct baseline_set *set);

/* Copies its arguments. Returns false when out of memory. */
bool baseline_set_add(struct baseline_set *set, enum metric metric, place_id from, place_id to,
                      const char *axes, const struct baseline *baseline,
                      const struct baseline_values *samples);
bool baseline_set_add_place(struct baseline_set *set, const struct expected_place *place);
