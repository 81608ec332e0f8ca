#include "cost/memtime.h"

#include <math.h>

#include "node/spread.h"

struct memtime memtime_unknown(void) { return (struct memtime){NAN, NAN, NAN, NAN, NAN}; }

struct memtime memtime_bare(double time_ns)
{
    return (struct memtime){time_ns, NAN, NAN, NAN, NAN};
}

/* Between logarithms: a rate that may be twice as high may as well be half as high, and no time is
 * negative. */
struct memtime memtime_within(double time_ns, double low_ns, double high_ns, double spread)
{
    double below = time_ns * (1 - exp(-spread)), above = time_ns * (exp(spread) - 1);
    return (struct memtime){time_ns, low_ns, high_ns, below * below, above * above};
}

struct memtime memtime_of(double time_ns, double low_ns, double high_ns, uint32_t n, double like,
                          double rounds)
{
    if (low_ns > 0)
        return memtime_within(time_ns, low_ns, high_ns,
                              spread_mean(log(high_ns / low_ns) / 2, n, like, rounds));
    /* what may be no time at all has no logarithm */
    double off = spread_mean((high_ns - low_ns) / 2, n, 0, rounds), below = fmin(off, time_ns);
    return (struct memtime){time_ns, low_ns, high_ns, isnan(off) ? off : below * below, off * off};
}

struct memtime memtime_sum(struct memtime a, struct memtime b)
{
    return (struct memtime){a.time_ns + b.time_ns, a.low_ns + b.low_ns, a.high_ns + b.high_ns,
                            a.below + b.below, a.above + b.above};
}

struct prediction memtime_median(const struct memtime *time)
{
    return (struct prediction){time->time_ns, time->low_ns, time->high_ns};
}

struct prediction memtime_once(const struct memtime *time)
{
    double low = time->time_ns - sqrt(time->below);
    return (struct prediction){time->time_ns, low < 0 ? 0 : low, time->time_ns + sqrt(time->above)};
}
