#include "health/baseline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* standard deviation of a normal distribution, in MADs */
#define SIGMA_PER_MAD 1.4826

/* noise of a false alarm's probability: baseline.h has the sources */
#define OUTLIERS          0.05
#define OUTLIER_WIDTH     3
#define MAD_EFFICIENCY    0.37
#define MEDIAN_EFFICIENCY 0.64
#define STEPS             15   /* of an integral, to each side */
#define RESOLUTION        1e-4 /* least spread: equal values show none */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *value, size_t count)
{
    qsort(value, count, sizeof *value, compare_doubles);
    return count % 2 == 1 ? value[count / 2] : (value[count / 2 - 1] + value[count / 2]) / 2;
}

/* Returns the factor by which the MAD of a small sample underestimates: Croux and Rousseeuw,
 * Time-efficient algorithms for two highly robust estimators of scale, Computational Statistics 1
 * (1992). */
static double correction(size_t count)
{
    static const double few[] = {1, 1, 1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107};
    return count < sizeof few / sizeof few[0] ? few[count] : (double)count / ((double)count - 0.8);
}

/* Takes the smaller of two deviations. The MAD of all values counts a slow drift as noise and so
 * would excuse more drift. Differences of successive values show the noise alone, with sqrt(2) of
 * its deviation. That is von Neumann's ratio (Annals of Mathematical Statistics 12, 1941) made
 * robust. Both use logarithms: a tenth of the median is as far off as ten times the median. */
void baseline_compute(struct baseline *baseline, const struct baseline_values *values)
{
    size_t count = baseline->count;
    double sorted[BASELINE_VALUES], step[BASELINE_VALUES];
    memcpy(sorted, values->value, count * sizeof *sorted);
    baseline->median = median_of(sorted, count);
    for (size_t i = 0; i < count; i++)
        sorted[i] = fabs(log(sorted[i] / baseline->median));
    double deviation = median_of(sorted, count);
    for (size_t i = 0; i + 1 < count; i++)
        step[i] = fabs(log(values->value[i + 1] / values->value[i]));
    if (count >= BASELINE_READY)
        deviation = fmin(deviation, median_of(step, count - 1) / sqrt(2));
    baseline->deviation = SIGMA_PER_MAD * correction(count) * deviation * baseline->median;
}

double baseline_goodness(enum metric metric, double value, double expected)
{
    return metric_info(metric)->higher_is_better ? value / expected : expected / value;
}

static bool is_ready(const struct baseline *baseline)
{
    return baseline->count >= BASELINE_READY || (baseline->accepted && baseline->count > 0);
}

/* Returns the limit in deviations, as the logarithm of a ratio. The deviation of few values may be
 * small by chance and would then reject the values that correct it. So the limit is wider for few
 * values. */
static double limit_of(const struct baseline *baseline, enum metric metric,
                       const struct health_limits *limits)
{
    double chance =
        baseline->count >= BASELINE_READY ? (double)BASELINE_VALUES / baseline->count : 1;
    return limits->mads *
           fmax(chance * baseline->deviation / baseline->median, health_limits_floor(metric));
}

/* True when the value exceeds @part of both limits: on the worse side, or with sign -1 on the
 * better side. */
static bool is_beyond(const struct baseline *baseline, enum metric metric, double value,
                      const struct health_limits *limits, double part, double sign)
{
    double goodness = baseline_goodness(metric, value, baseline->median);
    return sign * (1 - goodness) > part * limits->drift[health_limits_kind(metric)] &&
           -sign * log(goodness) > part * limit_of(baseline, metric, limits);
}

static bool is_compared(const struct baseline *baseline, enum metric metric,
                        const struct health_limits *limits)
{
    return is_ready(baseline) && limits->drift[health_limits_kind(metric)] > 0;
}

/* Solves is_beyond for the value. A value must exceed both limits, so the farther one decides. */
static double limit_value(const struct baseline *baseline, enum metric metric,
                          const struct health_limits *limits, double sign)
{
    if (!is_compared(baseline, metric, limits))
        return NAN;
    double goodness = 1 - sign * limits->drift[health_limits_kind(metric)],
           away = exp(-sign * limit_of(baseline, metric, limits));
    double farther = sign > 0 ? fmin(goodness, away) : fmax(goodness, away);
    return metric_info(metric)->higher_is_better ? baseline->median * farther
                                                 : baseline->median / farther;
}

double baseline_worse_beyond(const struct baseline *baseline, enum metric metric,
                             const struct health_limits *limits)
{
    return limit_value(baseline, metric, limits, 1);
}

double baseline_better_beyond(const struct baseline *baseline, enum metric metric,
                              const struct health_limits *limits)
{
    return limit_value(baseline, metric, limits, -1);
}

/* Returns the probability that a value of a normal distribution is more than x deviations out, on
 * one side. */
static double tail(double x) { return erfc(x / sqrt(2)) / 2; }

double baseline_false_alarm_rate(const struct baseline *baseline, enum metric metric,
                                 const struct health_limits *limits)
{
    if (!is_compared(baseline, metric, limits) || baseline->count < BASELINE_READY)
        return NAN;
    double share = -log(1 - limits->drift[health_limits_kind(metric)]),
           limit = fmax(share, limit_of(baseline, metric, limits)),
           spread = fmax(baseline->deviation / baseline->median, RESOLUTION),
           uncertainty = 1 / sqrt(2 * MAD_EFFICIENCY * baseline->count),
           offset = 1 / sqrt(MEDIAN_EFFICIENCY * baseline->count), sum = 0, weights = 0;
    for (int i = -STEPS; i <= STEPS; i++)
        for (int k = -STEPS; k <= STEPS; k++) {
            double z = 5.0 * i / STEPS, m = 5.0 * k / STEPS, weight = exp(-(z * z + m * m) / 2),
                   x = limit / (spread * exp(z * uncertainty)) - m * offset,
                   once = (1 - OUTLIERS) * tail(x) + OUTLIERS * tail(x / OUTLIER_WIDTH);
            sum += weight * pow(once, limits->looks);
            weights += weight;
        }
    return sum / weights;
}

enum baseline_verdict baseline_compare(const struct baseline *baseline, const struct value *v,
                                       const struct health_limits *limits)
{
    enum metric metric = v->metric;
    if (!is_compared(baseline, metric, limits))
        return BASELINE_NONE;
    bool higher = metric_info(metric)->higher_is_better;
    double best = higher ? v->high : v->low, worst = higher ? v->low : v->high;
    best = isnan(best) ? v->value : best;
    worst = isnan(worst) ? v->value : worst;
    bool is_standing = baseline->worse_runs >= limits->looks,
         is_out = is_standing ? is_beyond(baseline, metric, v->value, limits, 0.5, 1) &&
                                    baseline_goodness(metric, best, baseline->median) < 1
                              : is_beyond(baseline, metric, v->value, limits, 1, 1) &&
                                    is_beyond(baseline, metric, best, limits, 1, 1);
    if (is_out)
        return BASELINE_WORSE;
    if (is_beyond(baseline, metric, v->value, limits, 1, -1) &&
        is_beyond(baseline, metric, worst, limits, 1, -1))
        return BASELINE_BETTER;
    return BASELINE_IN_LINE;
}

bool baseline_is_vague(const struct value *v)
{
    return (v->high - v->low) / 2 > BASELINE_VAGUE * v->value;
}

/* Counts a value as low only if it would be worse after a good value too, and by half more
 * deviations. Draining a node needs more certainty than a warning. */
static void count_low(struct baseline *baseline, const struct value *v,
                      const struct health_limits *limits)
{
    struct baseline fresh = *baseline;
    struct health_limits strict = *limits;
    fresh.worse_runs = 0;
    strict.mads *= 1.5;
    if (baseline_compare(&fresh, v, &strict) != BASELINE_WORSE ||
        baseline_goodness(v->metric, v->value, baseline->median) >= BASELINE_LOW)
        baseline->low_runs = 0;
    else if (baseline->low_runs < UINT8_MAX && !baseline->is_overloaded && !baseline_is_vague(v))
        baseline->low_runs++;
}

/* Adds a value. A young accepted baseline keeps at least the spread of the previous one. */
static void add_value(struct baseline *baseline, struct baseline_values *values, double value)
{
    double before =
        baseline->accepted && baseline->count > 0 ? baseline->deviation / baseline->median : 0;
    values->value[baseline->count++] = value;
    baseline_compute(baseline, values);
    if (baseline->count < BASELINE_READY)
        baseline->deviation = fmax(baseline->deviation, before * baseline->median);
}

void baseline_record(struct baseline *baseline, struct baseline_values *values,
                     const struct value *v, struct baseline_look look,
                     const struct health_limits *limits)
{
    bool is_expected = !look.is_bad || baseline->accepted;
    bool is_worse = baseline_compare(baseline, v, limits) == BASELINE_WORSE;
    if (!is_worse && is_expected && baseline->count < BASELINE_VALUES && !baseline_is_vague(v)) {
        if (baseline->count == 0)
            baseline->begun_s = v->measured_at_s;
        add_value(baseline, values, v->value);
        /* compare again: the new value may have completed the baseline */
        is_worse = baseline_compare(baseline, v, limits) == BASELINE_WORSE;
    }
    if (!is_worse)
        baseline->worse_runs = 0;
    else if (baseline->worse_runs < UINT8_MAX)
        baseline->worse_runs++;
    baseline->is_overloaded = look.is_overloaded;
    count_low(baseline, v, limits);
}

bool baseline_is_confirmed_by(const struct baseline *baseline, const struct value *v,
                              const struct health_limits *limits)
{
    return baseline->count >= BASELINE_READY && baseline->worse_runs == 0 &&
           baseline_compare(baseline, v, limits) == BASELINE_IN_LINE;
}

void baseline_accept(struct baseline *baseline, struct baseline_values *values,
                     const struct value *v, const struct health_limits *limits, int64_t now_s)
{
    bool is_whole = baseline->count >= BASELINE_READY;
    if (baseline_is_confirmed_by(baseline, v, limits)) {
        baseline->accepted = true;
        return;
    }
    double relative = is_whole ? baseline->deviation / baseline->median : 0;
    *baseline = (struct baseline){.median = v->value,
                                  .deviation = relative * v->value,
                                  .begun_s = now_s,
                                  .count = 1,
                                  .accepted = true};
    *values = (struct baseline_values){.value = {v->value}};
}
