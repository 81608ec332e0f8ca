/**
 * Robust statistics: numbers only. docs/FLEET.md cites the sources.
 */
#pragma once
#include <stddef.h>

struct spread {
    double median;
    double deviation; /* 1.4826 MAD, corrected for few values */
};

/* Reorders the values; count is at least 1. */
struct spread spread_of(double *value, size_t count);
double spread_median(double *value, size_t count);

/* Logarithm of the probability that a normal variable exceeds z. */
double spread_log_normal(double z);
/* Logarithm of the probability that Student's t exceeds t. */
double spread_log_student(double t, double freedom);

/* Probability of at least hits of with, when slow of nodes are hit: Fisher's exact test, one
 * side. */
double spread_fisher(size_t hits, size_t with, size_t slow, size_t nodes);
