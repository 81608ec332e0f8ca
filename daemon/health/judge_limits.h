/**
 * Limits from the configuration: tolerated shortfall of a value, one set for each kind of metric.
 *
 * Fractions: 0.20 is 20 % less bandwidth, or a latency of which 20 % fewer fit in a second; 0 is
 * not compared. Pure; any thread.
 */
#pragma once
#include "base/config.h"
#include "node/metric.h"

enum judge_kind { JUDGE_BANDWIDTH, JUDGE_LATENCY, JUDGE_PINGPONG, JUDGE_KIND_COUNT };

struct judge_limits {
    /* drift: robust standard deviations of the baseline */
    double mads;
    /* below the baseline's median; below the median of its peers */
    double drift[JUDGE_KIND_COUNT], peers[JUDGE_KIND_COUNT];
    /* below the value from firmware, driver or link state */
    double nominal;
};

struct judge_limits judge_limits_of(const struct config *config);

enum judge_kind judge_limits_kind(enum metric metric);

/* Returns the least relative standard deviation of a baseline, even if its few values were closer.
 * Source: run-to-run variation of berth's own probes on an idle machine (docs/MEASURING.md). Copies
 * of pageable and managed memory depend on the pages of an allocation: up to 85 % between two runs
 * of one machine. */
double judge_limits_floor(enum metric metric);

/* Returns the same for one cell of the metric; axes as from values_axes. */
double judge_limits_spread(enum metric metric, const char *axes);

/* Returns the fraction for nominal values; 0 where they promise nothing about this metric. */
double judge_limits_nominal(const struct judge_limits *limits, enum metric metric);
