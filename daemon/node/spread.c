#include "node/spread.h"

#include <math.h>

#define Z          1.959964 /* 97.5 % quantile of the normal distribution */
#define N_EXACT    60       /* beyond, the binomial distribution is normal */
#define MEDIAN_VAR 1.570796 /* variance of the median of many, times their number: pi / 2 */

/* Returns the rank, from 1, of the lower end of the median's interval: at most 2.5 % of medians are
 * below it. */
static double lower_rank(uint32_t n)
{
    double term = pow(0.5, n), below = term;
    uint32_t rank = 0;
    if (n > N_EXACT)
        return floor((double)n / 2 - Z * sqrt((double)n) / 2);
    while (below <= 0.025 && rank < n / 2) {
        rank++;
        term *= (double)(n - rank + 1) / rank;
        below += term;
    }
    return rank > 0 ? rank : 1;
}

/* Returns the quantile of the normal distribution for a share from 0.5 on: P. J. Acklam's rational
 * function for the middle, then one step of Newton's method. */
static double normal_quantile(double probability)
{
    double q = probability - 0.5, r = q * q;
    double x = (((((-39.69683028665376 * r + 220.9460984245205) * r - 275.9285104469687) * r +
                  138.3577518672690) *
                     r -
                 30.66479806614716) *
                    r +
                2.506628277459239) *
               q /
               (((((-54.47609879822406 * r + 161.5858368580409) * r - 155.6989798598866) * r +
                  66.80131188771972) *
                     r -
                 13.28068155288572) *
                    r +
                1);
    double error = 0.5 * erfc(-x * M_SQRT1_2) - probability;
    return x - error * sqrt(2 * M_PI) * exp(x * x / 2);
}

/* Returns half the width of the interval in deviations: G. Blom's positions of order statistics. */
static double half_in_deviations(uint32_t n)
{
    double upper = (double)n + 1 - lower_rank(n);
    return normal_quantile((upper - 0.375) / ((double)n + 0.25));
}

/* Linear fit; a unit test verifies it. */
double spread_freedom(uint32_t n)
{
    return 3.6 + 0.35 * (n >= SPREAD_N_LEAST ? n : SPREAD_N_LEAST);
}

/* Returns the 97.5 % quantile of Student's distribution, by the series in 1 / freedom (Abramowitz
 * and Stegun, 26.7.5). */
static double student(double freedom)
{
    double z = Z, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
    return z + (z3 + z) / (4 * freedom) + (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * freedom * freedom * freedom);
}

double spread_deviation(double half, uint32_t n)
{
    return half / half_in_deviations(n >= SPREAD_N_LEAST ? n : SPREAD_N_LEAST);
}

double spread_interval(double half, uint32_t n)
{
    return half / Z * half_in_deviations(n >= SPREAD_N_LEAST ? n : SPREAD_N_LEAST);
}

double spread_one(double deviation, double error, uint32_t n, size_t intervals)
{
    return student(spread_freedom(n) * (double)(intervals > 0 ? intervals : 1)) *
           sqrt(deviation * deviation + error * error);
}

double spread_cell(double half, uint32_t n) { return spread_mean(half, n, 0, 1); }

double spread_cell_among(double half, uint32_t n, double peer_deviation)
{
    return spread_mean(half, n, peer_deviation, 1);
}

double spread_mean(double half, uint32_t n, double peer_deviation, double count)
{
    double own = spread_deviation(half, n),
           deviation =
               peer_deviation > 0 ? sqrt((own * own + peer_deviation * peer_deviation) / 2) : own;
    return spread_one(deviation / sqrt(fmax(count, 1)),
                      deviation * sqrt(MEDIAN_VAR / (n >= SPREAD_N_LEAST ? n : SPREAD_N_LEAST)), n,
                      peer_deviation > 0 ? 2 : 1);
}
