#include "fleet/spread.h"

#include <math.h>
#include <stdlib.h>

#define SIGMA_PER_MAD 1.4826

static void swap(double *a, double *b)
{
    double kept = *a;
    *a = *b;
    *b = kept;
}

/* Puts the value of rank k at its place, smaller ones before it: Hoare, Algorithm 65, 1961. */
static double select_rank(double *value, size_t count, size_t k)
{
    size_t left = 0, right = count - 1;
    while (left < right) {
        double pivot = value[left + (right - left) / 2];
        size_t i = left, j = right;
        for (;;) {
            while (value[i] < pivot)
                i++;
            while (value[j] > pivot)
                j--;
            if (i >= j)
                break;
            swap(&value[i++], &value[j--]);
        }
        size_t end = value[j] > pivot ? j - 1 : j; /* the last value that is not above the pivot */
        if (k <= end)
            right = end;
        else
            left = end + 1;
    }
    return value[k];
}

double spread_median(double *value, size_t count)
{
    double upper = select_rank(value, count, count / 2);
    if (count % 2 == 1)
        return upper;
    double lower = value[0];
    for (size_t i = 1; i < count / 2; i++)
        lower = fmax(lower, value[i]);
    return (lower + upper) / 2;
}

/* Corrects the MAD of a small sample: Croux and Rousseeuw, Computational Statistics 1, 1992. */
static double correction(size_t count)
{
    static const double few[] = {1, 1, 1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107};
    return count < sizeof few / sizeof few[0] ? few[count] : (double)count / ((double)count - 0.8);
}

struct spread spread_of(double *value, size_t count)
{
    struct spread spread = {.median = spread_median(value, count)};
    for (size_t i = 0; i < count; i++)
        value[i] = fabs(value[i] - spread.median);
    spread.deviation = SIGMA_PER_MAD * correction(count) * spread_median(value, count);
    return spread;
}

/* Far out erfc underflows; its asymptotic series (Abramowitz and Stegun 26.2.12) then is exact
 * enough. */
double spread_log_normal(double z)
{
    if (z < 30)
        return log(erfc(z / sqrt(2)) / 2);
    return -z * z / 2 - log(z * sqrt(2 * M_PI)) - 1 / (z * z);
}

/* Turns t into a normal variable: Wallace, Annals of Mathematical Statistics 30, 1959. */
double spread_log_student(double t, double freedom)
{
    if (t <= 0)
        return spread_log_normal(t);
    double z = sqrt(freedom * log1p(t * t / freedom)) * (8 * freedom + 1) / (8 * freedom + 3);
    return spread_log_normal(z);
}

static double log_choose(size_t n, size_t k)
{
    return lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1);
}

double spread_fisher(size_t hits, size_t with, size_t slow, size_t nodes)
{
    size_t most = with < slow ? with : slow;
    double all = log_choose(nodes, slow), p = 0;
    for (size_t i = hits; i <= most; i++)
        if (slow - i <= nodes - with)
            p += exp(log_choose(with, i) + log_choose(nodes - with, slow - i) - all);
    return fmin(p, 1);
}
