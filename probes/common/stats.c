#include "common/stats.h"

#include <math.h>
#include <stdlib.h>

/* lgamma leaves the sign where all threads see it. */
static double log_factorial(unsigned n)
{
    int sign;
    return lgamma_r(n + 1.0, &sign);
}

/* P(X = k) for X of Binomial(n, p), 0 < p < 1. */
static double binomial(unsigned n, double p, unsigned k)
{
    return exp(log_factorial(n) - log_factorial(k) - log_factorial(n - k) + k * log(p) +
               (n - k) * log1p(-p));
}

double probe_stats_coverage(unsigned n, double p, unsigned low, unsigned high)
{
    double sum = 0;
    for (unsigned k = low; k < high && k <= n; k++)
        sum += binomial(n, p, k);
    return sum < 1 ? sum : 1;
}

bool probe_stats_ranks(unsigned n, double p, unsigned *ret_low, unsigned *ret_high)
{
    const double tail = 0.025;
    unsigned low = 0, high = n + 1;
    double at_most = 0;
    for (unsigned k = 0; k < n && high > n; k++) {
        at_most += binomial(n, p, k);
        if (at_most <= tail)
            low = k + 1;
        if (1 - at_most <= tail)
            high = k + 1;
    }
    if (low < 1 || high > n || low > high)
        return false;
    *ret_low = low;
    *ret_high = high;
    return true;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct probe_summary probe_stats_quantile(double *samples, unsigned n, double p)
{
    qsort(samples, n, sizeof *samples, compare);
    struct probe_summary summary = {.low = NAN, .high = NAN, .n = n};
    if (p == 0.5)
        summary.value = (samples[(n - 1) / 2] + samples[n / 2]) / 2;
    else
        summary.value = samples[(unsigned)fmin(n - 1, fmax(0, ceil(p * n) - 1))];
    unsigned low, high;
    if (probe_stats_ranks(n, p, &low, &high)) {
        summary.low = samples[low - 1];
        summary.high = samples[high - 1];
    }
    return summary;
}

bool probe_stats_settled(const struct probe_summary *summary)
{
    return summary->high - summary->low <= 2 * PROBE_STATS_HALF_WIDTH * summary->value;
}

bool probe_stats_enough(double *samples, unsigned n, bool late)
{
    if (n < PROBE_STATS_MIN)
        return false;
    if (n >= PROBE_STATS_MAX || late)
        return true;
    struct probe_summary summary = probe_stats_quantile(samples, n, 0.5);
    return probe_stats_settled(&summary);
}
