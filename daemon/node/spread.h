/**
 * Where one more repetition lies, from the intervals of medians. An interval of a median says where
 * the median is; a prediction is asked about one more time, which is as far off as single
 * repetitions are.
 *
 * The interval of a median of n runs from one order statistic to another (probes/common/stats.h),
 * which are as many deviations apart as those of a normal distribution. Pure.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* the fewest repetitions that give an interval; taken where their number is not known */
#define SPREAD_N_LEAST 6

/* The deviation of single repetitions, from half the width of the 95 % interval of their median; n
 * 0: not known. */
double spread_deviation(double half, uint32_t n);

/* The other way round: half the 95 % interval of the median of n repetitions, of which 95 % are no
 * farther than half from it; n 0: not known. */
double spread_interval(double half, uint32_t n);

/* One interval of a median says as much of the deviation as a variance with so many degrees of
 * freedom does; n 0: not known. */
double spread_freedom(uint32_t n);

/* Returns half the 95 % prediction interval of one further repetition. The deviation is the mean of
 * so many intervals of n repetitions each; error is the deviation of the centre. */
double spread_one(double deviation, double error, uint32_t n, size_t intervals);

/* The same of one cell alone, around its median. */
double spread_cell(double half, uint32_t n);

/* The same where cells that are measured alike deviate by like on the whole: one cell's own
 * interval is wide or narrow by chance, and counts as much as all of them; like 0: nothing is
 * alike. */
double spread_cell_among(double half, uint32_t n, double like);

/* That of the mean of so many more (1 and more), which even each other out; the median's own error
 * they do not. */
double spread_mean(double half, uint32_t n, double like, double count);
