#include "cost/memtime.h"

#include <math.h>
#include <string.h>

#include "cost/limits.h"
#include "cost/policy.h"
#include "cost/transfer.h"
#include "node/curve.h"
#include "node/locality.h"
#include "node/spread.h"

#define SHARED_AXES  "bytes=16777216" /* the largest size of shared_write */
#define SHARED_BYTES 16777216.0

/* Longer than any access: such streams need no look at latencies. */
#define ACCESS_MOST_NS 1e4

static double less(double a, double b) { return a < b ? 0 : a - b; }

/* Intervals lie between logarithms: a rate that may be twice as high may as well be half as high,
 * and no time is negative. */
static struct estimate within(const struct memrate *rate, double time_ns, double spread)
{
    return (struct estimate){.time_ns = time_ns,
                             .low_ns = time_ns * exp(-spread),
                             .high_ns = time_ns * exp(spread),
                             .source = rate->source,
                             .value = rate->item,
                             .why = rate->why};
}

/* Returns the mean of so many repetitions. peers: the deviation of such cells. */
static struct estimate repeated(const struct memrate *rate, double time_ns, double peers,
                                double rounds)
{
    double half = rate->low > 0 ? log(rate->high / rate->low) / 2 : NAN;
    return within(rate, time_ns, spread_mean(half, rate->n, peers, rounds));
}

static struct estimate by_rate(const struct memrate *rate, double bytes, double rounds)
{
    return repeated(rate, bytes / rate->value * 1e9, 0, rounds);
}

/* ---- a GPU's kernels ---- */

/* Returns the deviation of one repetition of such transfers from the next; 0 unknown. */
static double deviation_of(const struct snapshot *snap, const struct value *value)
{
    const struct limits *limits = snap->derived.limits;
    if (value == NULL)
        return 0;
    if (value->metric == METRIC_MEMORY_BANDWIDTH || value->metric == METRIC_GPU_STREAM)
        return limits->own[value->metric == METRIC_GPU_STREAM];
    const struct agreement *peers = agreement_of(limits->agree, transfer_kind_of(value->metric));
    return peers != NULL ? peers->one : 0;
}

static struct memuser_start start_of(const struct memrate_access *access)
{
    const struct memuser *user = access->user;
    const struct memkind_place *place = &access->place;
    const struct graph *graph = access->snap->graph;
    return memkind_is_own(graph, place, user->gpu)            ? user->in_own
           : place->owner != PLACE_NONE                       ? user->in_peer
           : place->memory == locality_numa(graph, user->gpu) ? user->in_host
                                                              : user->in_far;
}

/* Counts a kernel for each time around the buffer. Its start deviates by as much as the rest. */
static struct estimate by_kernels(const struct memrate_access *access, const struct memrate *rate,
                                  struct memuser_start start, double bytes)
{
    double once = fmin(bytes, access->span), rounds = bytes / once;
    double start_ns = rounds * start.ns, off_ns = rounds * start.off_ns;
    struct estimate time = repeated(rate, bytes / rate->value * 1e9 + start_ns,
                                    deviation_of(access->snap, rate->item), rounds);
    time.low_ns = less(time.low_ns, off_ns);
    time.high_ns += off_ns;
    if (start_ns > POLICY_SAME * time.time_ns)
        return estimate_doubted(time, SOURCE_SIMILAR_PAIR, REASON_SIMILAR_ACCESS);
    return start_ns == 0 && once < TRANSFER_LARGE_BYTES
               ? estimate_doubted(time, SOURCE_NOMINAL, REASON_START_NOT_COUNTED)
               : time;
}

/* Takes small buffers from the curve of that transfer: each time around the buffer deviates by
 * itself. Sizes that were timed many at once say little of one, other transfers more. */
static struct estimate by_gpu(const struct memrate_access *access, enum memrate_what what,
                              double bytes)
{
    struct memrate rate = memrate_find(access, what);
    const struct value *v = rate.item;
    double once = fmin(bytes, access->span), rounds = bytes / once;
    const struct curve *curve = v != NULL && v->source == VALUE_MEASURED
                                    ? curve_find(access->snap->derived.curves, v->metric, v->from,
                                                 v->to, values_axes(access->snap->values, v))
                                    : NULL;
    struct memuser_start start = start_of(access);
    if (curve != NULL && !memkind_is_own(access->snap->graph, &access->place, access->user->gpu))
        start = (struct memuser_start){curve->fit.piece[0].t0_ns, 0};
    if (curve == NULL || access->span >= TRANSFER_LARGE_BYTES)
        return by_kernels(access, &rate, start, bytes);
    double one = deviation_of(access->snap, v) / sqrt(fmax(rounds, 1)),
           spread = isnan(rate.low) ? NAN
                                    : fmax(curve_fit_spread_mean(&curve->fit, once, rounds),
                                           spread_one(one, 0, v->n, 2));
    return within(&rate, rounds * curve_time_ns(curve, once), spread);
}

/* Counts once around the buffer by the rate of the first touch, where there is one. */
static struct estimate by_gpu_from_first(const struct memrate_access *access,
                                         enum memrate_what what, double bytes)
{
    struct estimate first = {0};
    struct memrate touch = memrate_first_touch(access, what);
    if (!isnan(touch.value)) {
        double once = fmin(bytes, access->span);
        first = by_kernels(access, &touch, access->user->in_host, once);
        bytes -= once;
    } else if (access->place.migrates) {
        first = estimate_doubted(first, SOURCE_LOWER_BOUND, REASON_MIGRATION_NOT_COUNTED);
    }
    return bytes > 0 ? estimate_sum(by_gpu(access, what, bytes), first) : first;
}

/* ---- streams and random accesses ---- */

/* No stream, of however few bytes, takes less than one access to that memory. */
static struct estimate at_least_one_access(const struct memrate_access *access,
                                           struct estimate time)
{
    size_t evidence = access->evidence->count;
    struct memrate_access any = *access;
    any.span = INFINITY;
    if (!(time.time_ns < ACCESS_MOST_NS) || time.time_ns == 0)
        return time;
    struct memrate latency = memrate_find(&any, MEMRATE_LATENCY);
    if (latency.value > time.time_ns) { /* the stream may come on top */
        struct estimate one = repeated(&latency, latency.value, 0, 1);
        one.high_ns += time.high_ns;
        return estimate_doubted(one, time.source, time.why);
    }
    access->evidence->count = evidence;
    return isnan(latency.value) && time.time_ns < MEMTIME_SHORT_NS
               ? estimate_doubted(time, SOURCE_NOMINAL, REASON_START_NOT_COUNTED)
               : time;
}

struct estimate memtime_stream(const struct memrate_access *access, double read_bytes,
                               double write_bytes)
{
    const double bytes[] = {[MEMRATE_READ] = read_bytes, [MEMRATE_WRITE] = write_bytes};
    struct estimate total = {0};
    for (enum memrate_what what = MEMRATE_READ; what <= MEMRATE_WRITE; what++) {
        if (bytes[what] == 0)
            continue;
        if (access->user->gpu != PLACE_NONE) {
            total = estimate_sum(total, by_gpu_from_first(access, what, bytes[what]));
        } else {
            struct memrate rate = memrate_find(access, what);
            total = estimate_sum(total, by_rate(&rate, bytes[what], bytes[what] / access->span));
        }
    }
    return at_least_one_access(access, total);
}

static struct estimate random_by_gpu(const struct memrate_access *access, double bytes)
{
    struct memrate_access own = *access;
    own.place = access->user->own;
    struct estimate time = memtime_stream(access, bytes, 0);
    size_t evidence = access->evidence->count;
    struct memrate far = memrate_find(access, MEMRATE_LATENCY),
                   near = memrate_find(&own, MEMRATE_LATENCY),
                   rate = memrate_find(&own, MEMRATE_READ);
    time.low_ns = time.high_ns = NAN;
    if (isnan(time.time_ns) || isnan(rate.value) || isnan(near.value) || isnan(far.value)) {
        access->evidence->count = evidence;
        return estimate_doubted(time, SOURCE_LOWER_BOUND, REASON_RANDOM_AS_STREAM);
    }
    /* latency times rate is in flight in its own memory: as much each latency there */
    time.time_ns = fmax(time.time_ns, bytes / rate.value * 1e9 * (far.value / near.value));
    return estimate_doubted(time, estimate_worse(SOURCE_SIMILAR_PAIR, rate.source),
                            REASON_RANDOM_IN_FLIGHT);
}

struct estimate memtime_random(const struct memrate_access *access, double read_bytes,
                               double write_bytes)
{
    double bytes = read_bytes + write_bytes;
    if (access->user->gpu != PLACE_NONE)
        return random_by_gpu(access, bytes);
    struct memrate latency = memrate_find(access, MEMRATE_LATENCY);
    if (isnan(latency.value))
        return estimate_doubted(memtime_stream(access, read_bytes, write_bytes), SOURCE_LOWER_BOUND,
                                REASON_RANDOM_AS_STREAM);
    /* a stated latency is no bound of accesses one after the other */
    latency.source = latency.source < SOURCE_PUBLISHED ? latency.source : SOURCE_PUBLISHED;
    double loads = ceil(bytes / MEMTIME_LINE_BYTES / access->user->cores);
    return estimate_doubted(repeated(&latency, loads * latency.value, 0, 1), SOURCE_SIMILAR_PAIR,
                            REASON_RANDOM_IN_FLIGHT);
}

/* ---- getting memory, and getting it back ---- */

struct estimate memtime_setup(const struct memrate_access *access, bool by_cores)
{
    const struct memkind_place *place = &access->place;
    const struct value *v, *touched = NULL, *pinned = NULL;
    struct estimate none = {0};
    if (place->kind == MEMKIND_DEVICE || place->memory == place->gpu)
        return none;
    size_t n = values_range(access->snap->values, METRIC_ALLOCATION, PLACE_NONE, &v);
    for (; n > 0; v++, n--) {
        const char *axes = values_axes(access->snap->values, v);
        if (v->to == place->memory && v->value > 0 && axes[0] == '\0')
            touched = touched == NULL ? v : touched;
        else if (v->to == place->memory && v->value > 0 && strcmp(axes, "kind=pinned") == 0)
            pinned = pinned == NULL ? v : pinned;
    }
    bool is_pinned = place->kind == MEMKIND_PINNED, as_touched = by_cores && pinned != NULL &&
                                                                 touched != NULL &&
                                                                 touched->value < pinned->value;
    v = is_pinned && pinned != NULL && !as_touched ? pinned : touched;
    if (v == NULL)
        return estimate_doubted(none, SOURCE_MEASURED, REASON_SETUP_NOT_COUNTED);
    evidence_add(access->evidence, access->start, v);
    struct memrate rate = memrate_of(v);
    if (is_pinned && pinned == NULL)
        rate = memrate_doubted(rate, SOURCE_SIMILAR_PAIR, REASON_SIMILAR_ACCESS);
    return by_rate(&rate, access->span, 1);
}

/* A round of shared_write takes the pages to the GPU and back. */
struct estimate memtime_return(const struct memrate_access *access, double bytes)
{
    place_id gpu = access->place.gpu, numa = locality_numa(access->snap->graph, gpu);
    const struct value *round =
        numa != PLACE_NONE
            ? values_find(access->snap->values, METRIC_SHARED_WRITE, gpu, numa, SHARED_AXES)
            : NULL;
    struct memrate there = memrate_first_touch(access, MEMRATE_WRITE);
    struct estimate none = {0};
    if (round == NULL || isnan(there.value))
        return estimate_doubted(none, SOURCE_LOWER_BOUND, REASON_MIGRATION_NOT_COUNTED);
    evidence_add(access->evidence, access->start, round);
    struct memrate rate = memrate_of(round);
    double rounds = bytes / SHARED_BYTES;
    struct estimate both = repeated(&rate, rounds * round->value, 0, rounds),
                    away = by_rate(&there, bytes, rounds);
    both.time_ns = less(both.time_ns, away.time_ns);
    both.low_ns = less(both.low_ns, away.high_ns);
    both.high_ns = less(both.high_ns, away.low_ns);
    return both;
}
