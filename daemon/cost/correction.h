/**
 * A correction of predictions of one kind by the times that programs reported: a factor on the
 * time, and the spread of reports around it. Pure; any thread.
 *
 * A report counts as the logarithm of observed / predicted. Reports agree when there are at least
 * CORRECTION_REPORTS_MIN, and three quarters of them lie within a factor of CORRECTION_NEAR of
 * their median. The median is shrunken towards no correction by the positive-part rule of
 * James and Stein, with the standard error of a median: 1 - (error / median)^2, at least 0
 * (B. Efron and C. Morris, "Stein's estimation rule and its competitors", JASA 68, 1973). The
 * spread is robust: 1.4826 times the median absolute deviation (P. J. Huber, "Robust Statistics",
 * 1981).
 */
#pragma once
#include <stddef.h>

#include "cost/estimate.h"

#define CORRECTION_REPORTS_MIN 8
#define CORRECTION_REPORTS_MAX 32 /* more replace the oldest */
#define CORRECTION_NEAR        1.25
#define CORRECTION_BOUND       2.0 /* the factor is from 1 / 2 to 2 */

struct correction {
    double factor;    /* on the time */
    double spread;    /* standard deviation of ln(observed / corrected), with what the bound cuts */
    unsigned reports; /* behind it; 0: none, the factor is 1 */
};

/* Returns the median of count numbers, which it sorts; NAN when there are none. */
double correction_median(float *number, size_t count);

/* Returns the correction by count reports, at most CORRECTION_REPORTS_MAX: finite logarithms. Its
 * reports are 0 where they do not agree. */
struct correction correction_of(const float *log_ratio, size_t count);

/* Returns the estimate with the factor, and an interval that also covers the spread of reports. An
 * estimate that is measured, or has no time, stays. */
struct estimate correction_apply(const struct correction *correction, struct estimate estimate);
