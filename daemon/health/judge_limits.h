/**
 * How much worse than expected a value may be before it is a finding: from the configuration, one
 * set for each kind of metric.
 *
 * Shares: 0.20 is 20 % less bandwidth, or so much latency that 20 % fewer fit a second; 0 is not
 * compared. Pure; any thread.
 */
#pragma once
#include "base/config.h"
#include "node/metric.h"

enum judge_kind { JUDGE_BANDWIDTH, JUDGE_LATENCY, JUDGE_PINGPONG, JUDGE_KIND_COUNT };

struct judge_limits {
    /* drift: robust standard deviations of the baseline */
    double mads;
    /* than the baseline's median; than the median of its likes */
    double drift[JUDGE_KIND_COUNT], likes[JUDGE_KIND_COUNT];
    /* than firmware, driver or link state say */
    double nominal;
};

struct judge_limits judge_limits_of(const struct config *config);

enum judge_kind judge_limits_kind(enum metric metric);

/* The least relative standard deviation that a baseline is given, however alike its few values
 * happened to be: what berth's own probes show from run to run on an idle machine
 * (docs/MEASURING.md). Copies of pageable and managed memory differ with the pages that an
 * allocation gets: by up to 85 % between two runs of one machine. */
double judge_limits_floor(enum metric metric);

/* The same of one cell of the metric; axes as values_axes gives them. */
double judge_limits_spread(enum metric metric, const char *axes);

/* The share for what is stated; 0 where what is stated is no promise about this metric. */
double judge_limits_nominal(const struct judge_limits *limits, enum metric metric);
