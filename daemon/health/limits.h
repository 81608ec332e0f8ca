/**
 * Limits from the configuration: tolerated shortfall of a value, one set for each kind of metric.
 *
 * Fractions: 0.20 is 20 % less bandwidth, or a latency of which 20 % fewer fit in a second; 0 is
 * not compared. Pure; any thread.
 */
#pragma once
#include "base/config.h"
#include "node/metric.h"

enum limit_kind { LIMIT_BANDWIDTH, LIMIT_LATENCY, LIMIT_PINGPONG, LIMIT_KIND_COUNT };

struct health_limits {
    /* measurements that see a worse value before it is a finding: 2 where the daemon measures again
     * by itself, or else 1 */
    unsigned looks;
    /* drift: robust standard deviations of the baseline */
    double mads;
    /* below the baseline's median; below the median of its peers */
    double drift[LIMIT_KIND_COUNT], peers[LIMIT_KIND_COUNT];
    /* below the value from firmware, driver or link state */
    double nominal;
};

struct health_limits health_limits_from(const struct config *config);

enum limit_kind health_limits_kind(enum metric metric);

/* Returns the least relative standard deviation of a baseline, even if its few values were closer.
 * Source: run-to-run variation of berth's own probes on an idle machine
 * (docs/measured/gpu_h200.md). Copies of pageable and managed memory depend on the pages of an
 * allocation: up to 85 % between two runs of one machine. */
double health_limits_floor(enum metric metric);

/* Returns the same for one cell of the metric; axes as from values_axes. */
double health_limits_spread(enum metric metric, const char *axes);

/* Returns the fraction for nominal values; 0 where they promise nothing about this metric. */
double health_limits_nominal(const struct health_limits *limits, enum metric metric);
