#include "cost/load_interval.h"

#include <math.h>

#include "node/spread.h"

#define DEVIATIONS 1.959964 /* in half of a normal distribution's 95 % */
/* of all having ended by the upper end, each on its own: then 93 to 97 % are inside however they
 * hang together; a test looks */
#define UPPER 0.96
#define STEPS 40
/* deviations behind a time: a double has no digits for how improbable it is that it has not ended
 * by then */
#define CERTAIN 8.5

/* Whether it is as probable as UPPER that all have ended by then, each on its own. */
static bool have_all_ended(const struct prediction *ends, size_t count, double by_ns)
{
    double probability = 1;
    for (size_t i = 0; i < count && probability >= UPPER; i++) {
        if (!(ends[i].time_ns > 0))
            continue;
        double deviation = (ends[i].high_ns - ends[i].time_ns) / DEVIATIONS,
               late_ns = by_ns - ends[i].time_ns;
        if (late_ns >= CERTAIN * fmax(deviation, 0))
            continue;
        if (!(deviation > 0))
            return false;
        probability *= 0.5 * erfc(-late_ns / deviation * M_SQRT1_2);
    }
    return probability >= UPPER;
}

struct prediction load_interval_last(const struct prediction *ends, size_t count)
{
    struct prediction last = {0, 0, 0};
    bool unknown = false;
    for (size_t i = 0; i < count; i++) {
        if (!(ends[i].time_ns > 0))
            continue;
        unknown = unknown || isnan(ends[i].low_ns) || isnan(ends[i].high_ns);
        last.time_ns = fmax(last.time_ns, ends[i].time_ns);
        last.low_ns = fmax(last.low_ns, ends[i].low_ns);
        last.high_ns = fmax(last.high_ns, ends[i].high_ns);
    }
    if (unknown)
        return (struct prediction){last.time_ns, NAN, NAN};
    double low_ns = last.high_ns, high_ns = last.high_ns;
    while (!have_all_ended(ends, count, high_ns) && !isinf(high_ns)) {
        low_ns = high_ns;
        high_ns = last.time_ns + 2 * (high_ns - last.time_ns) + last.time_ns * 1e-12;
    }
    for (int i = 0; i < STEPS && high_ns > low_ns * (1 + 1e-9); i++) {
        double middle_ns = (low_ns + high_ns) / 2;
        *(have_all_ended(ends, count, middle_ns) ? &high_ns : &low_ns) = middle_ns;
    }
    last.high_ns = high_ns;
    return last;
}

struct prediction load_interval_one(double end_ns, const struct prediction *alone,
                                    const struct limit_step *shared, const struct agreement *drift)
{
    double spread = alone->time_ns > 0 ? alone->high_ns / alone->time_ns - 1 : 0;
    if (shared != NULL)
        spread =
            isnan(shared->spread) || isnan(spread) ? (double)NAN : fmax(spread, shared->spread);
    if (drift != NULL && drift->rates > 0)
        spread = hypot(spread, spread_one(0, drift->rate, drift->rates, 1));
    return (struct prediction){end_ns, isnan(spread) ? spread : end_ns * (1 - fmin(spread, 1)),
                               end_ns * (1 + spread)};
}

struct prediction load_interval_begun(const struct prediction *end, double call_half_ns,
                                      double launches_ns)
{
    double low_ns = hypot(end->time_ns - end->low_ns, call_half_ns) + launches_ns,
           high_ns = hypot(end->high_ns - end->time_ns, call_half_ns) + launches_ns;
    return (struct prediction){end->time_ns,
                               isnan(low_ns) ? low_ns : fmax(end->time_ns - low_ns, 0),
                               end->time_ns + high_ns};
}
