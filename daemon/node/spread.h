/**
 * Prediction intervals of one more repetition, from the intervals of medians. The interval of a
 * median locates the median. A prediction needs the deviation of one more repetition, which equals
 * that of single repetitions.
 *
 * The interval of a median of n runs from one order statistic to another (probes/common/stats.h).
 * These are as many deviations apart as those of a normal distribution. Pure.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* the fewest repetitions that give an interval; used for an unknown number */
#define SPREAD_N_LEAST 6

/* Returns the deviation of single repetitions, from half the width of the 95 % interval of their
 * median; n 0: unknown. */
double spread_deviation(double half, uint32_t n);

/* Returns half the 95 % interval of the median of n repetitions, of which 95 % are within half of
 * it; n 0: unknown. This is the inverse direction. */
double spread_interval(double half, uint32_t n);

/* Returns the degrees of freedom of a variance that determines the deviation as well as one
 * interval of a median; n 0: unknown. */
double spread_freedom(uint32_t n);

/* Returns half the 95 % prediction interval of one further repetition. The deviation is the mean
 * over intervals intervals of n repetitions each; error is the deviation of the centre. */
double spread_one(double deviation, double error, uint32_t n, size_t intervals);

/* Returns the same of one cell alone, around its median. */
double spread_cell(double half, uint32_t n);

/* Returns the same of a cell whose peers, measured alike, deviate by peer_deviation on average. One
 * cell's own interval is wide or narrow by chance, so it counts as much as all of its peers'.
 * peer_deviation 0: no peers. */
double spread_cell_among(double half, uint32_t n, double peer_deviation);

/* Returns the same of the mean of count more repetitions (1 and more). These even out, but the
 * error of the median does not. */
double spread_mean(double half, uint32_t n, double peer_deviation, double count);
