#include "cost/correction.h"

#include <stdlib.h>
#include <string.h>

#include "cost/policy.h"

#define MAD_SIGMA    1.4826 /* of a normal distribution */
#define MEDIAN_ERROR 1.2533 /* sqrt(pi / 2): standard error of a median beside that of a mean */
#define INTERVAL     2.5    /* 95 % of one more value after 8: Student's t 2.36 by sqrt(1 + 1/8) */

static int compare(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

double correction_median(float *number, size_t count)
{
    if (count == 0)
        return NAN;
    qsort(number, count, sizeof *number, compare);
    return ((double)number[(count - 1) / 2] + (double)number[count / 2]) / 2;
}

struct correction correction_of(const float *log_ratio, size_t count)
{
    float sorted[CORRECTION_REPORTS_MAX], away[CORRECTION_REPORTS_MAX];
    struct correction none = {.factor = 1};
    size_t near = 0;
    if (count < CORRECTION_REPORTS_MIN || count > CORRECTION_REPORTS_MAX)
        return none;
    memcpy(sorted, log_ratio, count * sizeof *sorted);
    double median = correction_median(sorted, count), bound = log(CORRECTION_BOUND);
    for (size_t i = 0; i < count; i++) {
        away[i] = (float)fabs((double)sorted[i] - median);
        near += (double)away[i] <= log(CORRECTION_NEAR);
    }
    if (4 * near < 3 * count)
        return none;
    double sigma = MAD_SIGMA * correction_median(away, count),
           error = MEDIAN_ERROR * sigma / sqrt((double)count),
           shrunken = median != 0 ? median * fmax(1 - (error / median) * (error / median), 0) : 0,
           bounded = fmin(fmax(shrunken, -bound), bound);
    return (struct correction){.factor = exp(bounded),
                               .spread = fmax(hypot(sigma, median - bounded), POLICY_SAME),
                               .reports = (unsigned)count};
}

struct estimate correction_apply(const struct correction *correction, struct estimate estimate)
{
    if (correction->reports == 0 || estimate.source == SOURCE_MEASURED ||
        !isfinite(estimate.time_ns))
        return estimate;
    double below = estimate.low_ns > 0 ? log(estimate.time_ns / estimate.low_ns) : 0,
           above = estimate.high_ns > 0 ? log(estimate.high_ns / estimate.time_ns) : 0,
           spread = INTERVAL * correction->spread;
    estimate.time_ns *= correction->factor;
    estimate.low_ns = estimate.time_ns * exp(-hypot(below, spread));
    estimate.high_ns = estimate.time_ns * exp(hypot(above, spread));
    return estimate;
}
