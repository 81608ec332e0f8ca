#include "cost/memtime.h"

#include <math.h>

#include "node/spread.h"

struct memtime memtime_unknown(void)
{
    return (struct memtime){.time_ns = NAN, .below = NAN, .above = NAN};
}

struct memtime memtime_bare(double time_ns, enum source source)
{
    return (struct memtime){time_ns, NAN, NAN, source, 0};
}

/* Between logarithms: a rate that may be twice as high may as well be half as high, and no time is
 * negative. */
struct memtime memtime_within(double time_ns, double spread)
{
    double below = time_ns * (1 - exp(-spread)), above = time_ns * (exp(spread) - 1);
    return (struct memtime){.time_ns = time_ns, .below = below * below, .above = above * above};
}

struct memtime memtime_of(double time_ns, double low_ns, double high_ns, uint32_t n, double peers,
                          double rounds)
{
    if (low_ns > 0)
        return memtime_within(time_ns, spread_mean(log(high_ns / low_ns) / 2, n, peers, rounds));
    /* a time that may be 0 has no logarithm */
    double off = spread_mean((high_ns - low_ns) / 2, n, 0, rounds), below = fmin(off, time_ns);
    return (struct memtime){
        .time_ns = time_ns, .below = isnan(off) ? off : below * below, .above = off * off};
}

struct memtime memtime_sum(struct memtime a, struct memtime b)
{
    return (struct memtime){a.time_ns + b.time_ns, a.below + b.below, a.above + b.above,
                            estimate_worse(a.source, b.source), a.doubts | b.doubts};
}

struct memtime memtime_doubted(struct memtime time, enum reason_code doubt, enum source source)
{
    time.doubts |= MEMTIME_DOUBT(doubt);
    time.source = estimate_worse(time.source, source);
    return time;
}

struct estimate memtime_estimate(const struct memtime *time)
{
    struct estimate estimate = {.time_ns = time->time_ns,
                                .low_ns = fmax(time->time_ns - sqrt(time->below), 0),
                                .high_ns = time->time_ns + sqrt(time->above),
                                .source = time->source};
    if (isnan(time->time_ns) || isnan(time->below))
        estimate.low_ns = NAN; /* fmax ignores it */
    if (time->source >= SOURCE_NOMINAL) {
        estimate.low_ns = time->time_ns;
        estimate.high_ns = NAN;
    }
    return estimate;
}

void memtime_warn(memtime_doubts doubts, const char *memory, struct reasons *warnings)
{
    for (enum reason_code code = REASON_SIMILAR_ACCESS; code <= REASON_TOUCHED_BY_ONE_THREAD;
         code++)
        if ((doubts & MEMTIME_DOUBT(code)) != 0)
            reasons_add_about(warnings, code, memory, NO_NUMBERS);
}

void memtime_cite(struct memtime_basis *basis, const struct value *value)
{
    if (!evidence_add(basis->evidence, basis->start, value))
        basis->no_memory = true;
}

void memtime_cite_transfer(struct memtime_basis *basis, const struct transfer *transfer)
{
    if (transfer_cite(transfer, basis->evidence, basis->start, NULL) != BERTH_OK)
        basis->no_memory = true;
}
