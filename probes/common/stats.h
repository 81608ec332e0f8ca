/**
 * Statistics of repetitions: a quantile with an interval from order statistics, and a stopping
 * rule.
 *
 * The interval of the p-quantile of n samples runs from the l-th to the u-th smallest. The binomial
 * distribution gives the probability that it holds the true quantile, for any distribution of the
 * samples. Source: Hoefler and Belli, SC'15; David and Nagaraja, Order Statistics, 7.1. All
 * functions are pure, except that they sort their samples.
 */
#pragma once
#include <stdbool.h>

/* the fewest repetitions that give a 95 % interval of the median */
#define PROBE_STATS_MIN        6
#define PROBE_STATS_MAX        25 /* more are not worth their time */
#define PROBE_STATS_HALF_WIDTH 0.01
/* a cell is given up after this many times its budget, with any number of samples */
#define PROBE_STATS_PATIENCE 10

struct probe_summary {
    double value, low, high; /* low and high are NAN where n is too small for a 95 % interval */
    unsigned n;
};

/* Finds the ranks, from 1, of the narrowest interval of at least 95 % with at most 2.5 % on either
 * side. False when n samples do not give one. */
bool probe_stats_ranks(unsigned n, double p, unsigned *ret_low, unsigned *ret_high);

/* Probability, from 0 to 1, that the l-th to the u-th smallest of n samples hold the p-quantile
 * between them. */
double probe_stats_coverage(unsigned n, double p, unsigned low, unsigned high);

/* Sorts the samples. The median is the middle one or the mean of the two middle ones. Another
 * quantile is the sample of rank ceil(p n). n is at least 1. */
struct probe_summary probe_stats_quantile(double *samples, unsigned n, double p);

/* True when half the interval's width is at most PROBE_STATS_HALF_WIDTH of the value. */
bool probe_stats_settled(const struct probe_summary *summary);

/* The stopping rule: true when samples (sorted by this) are enough. late: the cell's time is
 * spent. */
bool probe_stats_enough(double *samples, unsigned n, bool late);
