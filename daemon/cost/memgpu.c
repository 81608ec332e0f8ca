#include "cost/memgpu.h"

#include <math.h>
#include <string.h>

#include "cost/limits.h"
#include "cost/matrix.h"
#include "cost/policy.h"
#include "node/curve.h"
#include "node/locality.h"
#include "node/spread.h"
#include "node/transfer.h"

#define SHARED_AXES  "bytes=16777216" /* the largest size of shared_write */
#define SHARED_BYTES 16777216.0

/* ---- the value that prices a stream ---- */

/* The least doubtful value so far. */
struct rate {
    const struct value *value;
    enum source source;
    bool is_exact; /* of just that access */
};

/* A value that may tell the rate. */
struct candidate {
    enum metric metric;
    place_id from, to;
    const char *axes;
    enum source source; /* of the rate, if the value itself is measured */
    bool is_measured;   /* else it says nothing of kernels */
};

static const char *operation(bool is_write)
{
    return is_write ? "operation=write" : "operation=read";
}

/* Of a metric whose default is reading. */
static const char *own_operation(bool is_write) { return is_write ? "operation=write" : ""; }

static void consider(const struct memgpu *at, struct rate *best, struct candidate its)
{
    const struct value *v = values_find(at->snap->values, its.metric, its.from, its.to, its.axes);
    if (v == NULL || !(v->value > 0) || (its.is_measured && v->source != VALUE_MEASURED))
        return;
    enum source source = estimate_worse(its.source, estimate_source(v));
    if (best->value == NULL || source < best->source)
        *best = (struct rate){v, source, its.source == SOURCE_MEASURED};
}

static bool is_same_model(const struct memgpu *at, place_id gpu)
{
    const char *its = graph_place(at->snap->graph, gpu)->model,
               *own = graph_place(at->snap->graph, at->gpu)->model;
    return gpu != at->gpu && its != NULL && own != NULL && strcmp(its, own) == 0;
}

/* The gpu's own memory, else that of a gpu of the same model. */
static void consider_own(const struct memgpu *at, enum metric metric, const char *axes,
                         enum source source, struct rate *best)
{
    const struct graph *graph = at->snap->graph;
    enum source similar = estimate_worse(source, SOURCE_SIMILAR_PAIR);
    consider(at, best, (struct candidate){metric, at->gpu, at->gpu, axes, source, false});
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE;
         g = graph_next(graph, PLACE_GPU, g + 1))
        if (is_same_model(at, g))
            consider(at, best, (struct candidate){metric, g, g, axes, similar, false});
}

static void rate_in_own(const struct memgpu *at, bool is_write, enum source source,
                        struct rate *best)
{
    const char *axes = own_operation(is_write);
    place_id numa = at->node->numa_of[at->gpu];
    const struct value *v =
        memkind_is_one(at->node, at->gpu)
            ? values_find(at->snap->values, METRIC_MEMORY_BANDWIDTH, numa, numa, axes)
            : NULL;
    consider(at, best,
             (struct candidate){METRIC_MEMORY_BANDWIDTH, at->gpu, at->gpu, axes, source, false});
    consider_own(at, METRIC_GPU_STREAM, "", SOURCE_SIMILAR_PAIR, best);
    consider_own(at, METRIC_MEMORY_BANDWIDTH, axes, source, best);
    if (v != NULL && v->source == VALUE_NOMINAL) /* the rate of cores says nothing */
        consider(at, best, (struct candidate){v->metric, numa, numa, axes, SOURCE_NOMINAL, false});
    if (is_write)
        consider_own(at, METRIC_MEMORY_BANDWIDTH, "", SOURCE_REVERSE_DIRECTION, best);
}

/* Published rates of copy engines say nothing of kernels, which have all links. */
static void rate_in_peer(const struct memgpu *at, place_id peer, bool is_write, enum source source,
                         struct rate *best)
{
    const enum source similar = SOURCE_SIMILAR_PAIR, reverse = SOURCE_REVERSE_DIRECTION;
    place_id gpu = at->gpu, from = is_write ? gpu : peer, to = is_write ? peer : gpu;
    const struct candidate list[] = {
        {METRIC_GPU_GPU_KERNEL, gpu, peer, operation(is_write), source, false},
        {METRIC_GPU_GPU_KERNEL, gpu, peer, "", similar, false},
        {METRIC_GPU_GPU_COPY_ENGINE, from, to, "", similar, true},
        {METRIC_GPU_GPU_KERNEL, peer, gpu, operation(is_write), reverse, true},
        {METRIC_GPU_GPU_COPY_ENGINE, to, from, "", reverse, true}};
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        consider(at, best, list[i]);
}

static void rate_in_host(const struct memgpu *at, bool is_write, struct rate *best)
{
    const enum source exact = SOURCE_MEASURED, similar = SOURCE_SIMILAR_PAIR;
    place_id gpu = at->gpu, numa = at->place.memory, from = is_write ? gpu : numa,
             to = is_write ? numa : gpu;
    const char *managed = is_write ? "kind=managed;operation=write" : "kind=managed;operation=read";
    bool is_managed = at->place.kind == MEMKIND_MANAGED;
    const struct candidate list[] = {
        {METRIC_HOST_GPU_KERNEL, from, to, managed, exact, false},
        {METRIC_HOST_GPU_KERNEL, from, to, "kind=managed", similar, false},
        {METRIC_MEMORY_BANDWIDTH, gpu, numa, own_operation(is_write), exact, false},
        {METRIC_HOST_GPU_KERNEL, from, to, operation(is_write), is_managed ? similar : exact,
         false},
        {METRIC_HOST_GPU_KERNEL, from, to, "", similar, false},
        {METRIC_MEMORY_BANDWIDTH, gpu, numa, own_operation(is_write), similar, false},
        {METRIC_HOST_GPU_COPY_ENGINE, from, to, "", similar, false}};
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if (i >= 3 || (i < 2 ? is_managed : at->place.kind == MEMKIND_SYSTEM))
            consider(at, best, list[i]);
}

/* The gpu in whose memory the buffer lies, PLACE_NONE the host's. Device memory of a gpu that has
 * one memory with its processor is that gpu's. */
static place_id owner_of(const struct memgpu *at)
{
    return at->place.kind == MEMKIND_DEVICE ? at->place.gpu
                                            : memkind_owner(at->node, at->place.memory);
}

/* True for a processor's memory that is this gpu's as well. */
static bool is_one_with(const struct memgpu *at)
{
    return memkind_is_one(at->node, at->gpu) &&
           memkind_numa(at->node, at->place.memory) == at->node->numa_of[at->gpu];
}

/* True for managed memory that moves to a gpu's own, which cores know by no name. */
static bool is_moving(const struct memgpu *at)
{
    return at->place.kind == MEMKIND_MANAGED && at->place.memory == at->place.gpu &&
           memkind_numa(at->node, at->place.memory) == PLACE_NONE;
}

bool memgpu_is_own(const struct memgpu *at)
{
    bool moves = at->place.kind == MEMKIND_MANAGED && at->place.memory == at->place.gpu;
    return !moves && (owner_of(at) == at->gpu || is_one_with(at));
}

/* value is NULL where nothing is known. Memory of a processor that is a gpu's as well is another
 * kind of that gpu's. */
static struct rate find_rate(const struct memgpu *at, bool is_write)
{
    struct rate best = {0};
    place_id owner = owner_of(at),
             peer = owner != PLACE_NONE ? owner : memkind_one_of(at->node, at->place.memory);
    enum source source = owner != PLACE_NONE ? SOURCE_MEASURED : SOURCE_SIMILAR_PAIR;
    if (owner == PLACE_NONE)
        rate_in_host(at, is_write, &best);
    if (owner == at->gpu || is_one_with(at))
        rate_in_own(at, is_write, source, &best);
    else if (peer != PLACE_NONE)
        rate_in_peer(at, peer, is_write, source, &best);
    return best;
}

/* ---- starting kernels ---- */

struct start {
    double ns, off_ns; /* 0 unknown */
};

static void widen(const struct memgpu *at, enum metric metric, double *most, double *least)
{
    const struct curve *curve;
    for (size_t n = curve_range(at->snap->derived.curves, metric, &curve); n > 0; curve++, n--)
        if (curve->from == at->gpu || curve->to == at->gpu) {
            *most = fmax(*most, curve->fit.piece[0].t0_ns);
            *least = fmin(*least, curve->fit.piece[0].t0_ns);
        }
}

/* As a streaming copy in the gpu's own memory; elsewhere the most of this and of the gpu's curves
 * of that metric, because kernels in another memory start no faster. Host memory that is not next
 * to the gpu is as far as another gpu's. */
static struct start start_of(const struct memgpu *at, enum metric metric)
{
    const struct curve *curve =
        curve_find(at->snap->derived.curves, METRIC_GPU_STREAM, at->gpu, at->gpu, "");
    double most = curve != NULL ? curve->fit.piece[0].t0_ns : 0,
           least = curve != NULL ? most : INFINITY;
    if (metric != METRIC_MEMORY_BANDWIDTH && metric != METRIC_GPU_STREAM)
        widen(at, metric, &most, &least);
    if (metric == METRIC_HOST_GPU_KERNEL &&
        at->place.memory != locality_numa(at->snap->graph, at->gpu))
        widen(at, METRIC_GPU_GPU_KERNEL, &most, &least);
    return (struct start){most, isinf(least) ? 0 : most - least};
}

/* ---- times ---- */

/* The deviation of one repetition from the next, of such transfers; 0 not known. */
static double deviation_of(const struct memgpu *at, enum metric metric)
{
    const struct limits *limits = at->snap->derived.limits;
    if (metric == METRIC_MEMORY_BANDWIDTH || metric == METRIC_GPU_STREAM)
        return limits->own[metric == METRIC_GPU_STREAM];
    const struct agreement *peers = agreement_of(limits->agree, transfer_kind_of(metric));
    return peers != NULL ? peers->one : 0;
}

/* At a rate, started rounds times. Starting deviates by as much as the rest. */
static struct memtime by_rate(const struct memgpu *at, enum metric metric, const struct value *v,
                              double bytes, double rounds)
{
    struct start start = start_of(at, metric);
    double off = rounds * start.off_ns, time_ns = bytes / v->value * 1e9 + rounds * start.ns;
    struct memtime time =
        memtime_of(time_ns, time_ns * (v->value / v->high), time_ns * (v->value / v->low), v->n,
                   deviation_of(at, metric), rounds);
    time.below += off * off;
    time.above += off * off;
    if (start.ns > 0)
        return rounds * start.ns > POLICY_SAME * time_ns
                   ? memtime_doubted(time, REASON_SIMILAR_ACCESS, SOURCE_SIMILAR_PAIR)
                   : time;
    return fmin(bytes, at->span) < TRANSFER_LARGE_BYTES
               ? memtime_doubted(time, REASON_START_NOT_COUNTED, SOURCE_NOMINAL)
               : time;
}

/* By the curve of that transfer for buffers of its sizes: each time around the buffer deviates by
 * itself. Sizes that were all timed many at once say little of one, other transfers more. */
static struct memtime by_curve(const struct memgpu *at, const struct curve *curve,
                               const struct value *v, double bytes)
{
    double once = fmin(bytes, at->span), rounds = bytes / once,
           deviation = deviation_of(at, curve->metric) / sqrt(fmax(rounds, 1));
    return memtime_within(
        rounds * curve_time_ns(curve, once),
        fmax(curve_fit_spread_mean(&curve->fit, once, rounds), spread_one(deviation, 0, v->n, 2)));
}

static struct memtime by_value(const struct memgpu *at, const struct rate *rate, double bytes)
{
    const struct value *v = rate->value;
    const struct curve *curve = v->source == VALUE_MEASURED && at->span < TRANSFER_LARGE_BYTES
                                    ? curve_find(at->snap->derived.curves, v->metric, v->from,
                                                 v->to, values_axes(at->snap->values, v))
                                    : NULL;
    struct memtime time = curve != NULL
                              ? by_curve(at, curve, v, bytes)
                              : by_rate(at, v->metric, v, bytes, bytes / fmin(bytes, at->span));
    if ((v->from == v->to && v->from != at->gpu) || rate->source == SOURCE_REVERSE_DIRECTION)
        time.below = time.above = NAN; /* the interval is another's */
    memtime_cite(at->basis, v);
    if (!rate->is_exact)
        time = memtime_doubted(time, REASON_SIMILAR_ACCESS, rate->source);
    time.source = estimate_worse(time.source, rate->source);
    return time;
}

static struct memtime stream(const struct memgpu *at, bool is_write, double bytes);

/* By the links between. Host memory is no faster than the nearest of it in the same kind. */
static struct memtime by_links(const struct memgpu *at, bool is_write, double bytes)
{
    place_id owner = owner_of(at), memory = owner != PLACE_NONE ? owner : at->place.memory,
             nearest = locality_numa(at->snap->graph, at->gpu);
    const struct matrix_item *item =
        memory == at->gpu ? NULL
                          : matrix_find(at->snap->derived.matrix, is_write ? at->gpu : memory,
                                        is_write ? memory : at->gpu, MECHANISM_KERNEL);
    if (item == NULL)
        return memtime_unknown();
    double time_ns = bytes / item->alone.bytes_per_s * 1e9;
    if (owner == PLACE_NONE && nearest != PLACE_NONE && nearest != memory) {
        struct memgpu there = *at;
        size_t evidence = at->basis->evidence->count;
        there.place.memory = nearest;
        struct memtime near = stream(&there, is_write, bytes);
        if (near.time_ns >= time_ns)
            return memtime_doubted(near, REASON_ACCESS_BY_LINKS, SOURCE_NOMINAL);
        at->basis->evidence->count = evidence;
    }
    memtime_cite_transfer(at->basis, &item->alone);
    struct memtime time = memtime_doubted(memtime_bare(time_ns, SOURCE_NOMINAL),
                                          REASON_ACCESS_BY_LINKS, SOURCE_NOMINAL);
    return fmin(bytes, at->span) < TRANSFER_LARGE_BYTES
               ? memtime_doubted(time, REASON_START_NOT_COUNTED, SOURCE_NOMINAL)
               : time;
}

static struct memtime stream(const struct memgpu *at, bool is_write, double bytes)
{
    struct rate rate = find_rate(at, is_write);
    return rate.value != NULL ? by_value(at, &rate, bytes) : by_links(at, is_write, bytes);
}

static const struct value *touch_at(const struct memgpu *at, bool is_write, place_id numa)
{
    static const char *const axes[2][2][2] = {
        {{"kind=system;operation=read", "kind=system;operation=read;xnack=on"},
         {"kind=migrating;operation=read", "kind=migrating;operation=read;xnack=on"}},
        {{"kind=system;operation=write", "kind=system;operation=write;xnack=on"},
         {"kind=migrating;operation=write", "kind=migrating;operation=write;xnack=on"}}};
    const struct value *v = values_find(
        at->snap->values, METRIC_HOST_GPU_KERNEL, is_write ? at->gpu : numa,
        is_write ? numa : at->gpu, axes[is_write][at->place.kind == MEMKIND_MANAGED][at->xnack]);
    return v != NULL && v->value > 0 ? v : NULL;
}

/* The measured rate of a first touch: of ordinary memory of the host, or managed memory that moves
 * to the gpu. That at the nearest NUMA node stands for others, so that none looks better for want
 * of a measurement. */
static const struct value *first_touch(const struct memgpu *at, bool is_write)
{
    place_id nearest = locality_numa(at->snap->graph, at->gpu);
    bool is_system = at->place.kind == MEMKIND_SYSTEM && owner_of(at) == PLACE_NONE;
    const struct value *v = is_system ? touch_at(at, is_write, at->place.memory) : NULL;
    if (v == NULL && nearest != PLACE_NONE && (is_system || is_moving(at)))
        v = touch_at(at, is_write, nearest);
    return v;
}

static struct memtime stream_from_first(const struct memgpu *at, bool is_write, double bytes)
{
    struct memtime first = {0};
    if (bytes == 0)
        return first;
    const struct value *touch = first_touch(at, is_write);
    if (touch != NULL) {
        double once = fmin(bytes, at->span);
        bytes -= once;
        first = by_rate(at, touch->metric, touch, once, 1);
        memtime_cite(at->basis, touch);
        if (!is_moving(at) && touch->from != at->place.memory && touch->to != at->place.memory) {
            first.below = first.above = NAN; /* the interval is another memory's */
            first = memtime_doubted(first, REASON_SIMILAR_ACCESS, SOURCE_SIMILAR_PAIR);
        }
    } else if (is_moving(at)) {
        first = memtime_doubted(first, REASON_MIGRATION_NOT_COUNTED, SOURCE_LOWER_BOUND);
    }
    return bytes > 0 ? memtime_sum(stream(at, is_write, bytes), first) : first;
}

struct memtime memgpu_stream(const struct memgpu *at, double read_bytes, double write_bytes)
{
    struct memtime read = stream_from_first(at, false, read_bytes);
    return memtime_sum(read, stream_from_first(at, true, write_bytes));
}

/* In its own memory, else in that of a gpu of the same model; value NULL unknown. */
static struct rate own_latency(const struct memgpu *at)
{
    struct rate best = {0};
    consider_own(at, METRIC_MEMORY_LATENCY, "", SOURCE_MEASURED, &best);
    return best;
}

struct memtime memgpu_random(const struct memgpu *at, double bytes)
{
    place_id owner = owner_of(at), to = owner != PLACE_NONE ? owner : at->place.memory;
    struct memtime time = memgpu_stream(at, bytes, 0);
    const struct value *near = own_latency(at).value,
                       *far = memgpu_is_own(at)
                                  ? near
                                  : values_find(at->snap->values, METRIC_MEMORY_LATENCY, at->gpu,
                                                to, "");
    struct rate own = {0};
    rate_in_own(at, false, SOURCE_MEASURED, &own);
    time.below = time.above = NAN;
    if (isnan(time.time_ns))
        return time;
    if (own.value == NULL || near == NULL || far == NULL || !(far->value > 0))
        return memtime_doubted(time, REASON_RANDOM_AS_STREAM, SOURCE_LOWER_BOUND);
    memtime_cite(at->basis, far);
    memtime_cite(at->basis, near);
    memtime_cite(at->basis, own.value);
    /* latency times rate is in flight in its own memory: as much each latency there */
    time.time_ns = fmax(time.time_ns, bytes / own.value->value * 1e9 * (far->value / near->value));
    return memtime_doubted(time, REASON_RANDOM_IN_FLIGHT,
                           estimate_worse(SOURCE_SIMILAR_PAIR, own.source));
}

/* A round of shared_write takes the pages to the host and back. */
struct memtime memgpu_return(const struct memgpu *at, double bytes)
{
    place_id numa = locality_numa(at->snap->graph, at->gpu);
    const struct value *round =
        numa != PLACE_NONE
            ? values_find(at->snap->values, METRIC_SHARED_WRITE, at->gpu, numa, SHARED_AXES)
            : NULL;
    const struct value *there = first_touch(at, true);
    if (round == NULL || there == NULL)
        return memtime_unknown();
    memtime_cite(at->basis, round);
    memtime_cite(at->basis, there);
    return memtime_of(bytes * fmax(round->value / SHARED_BYTES - 1e9 / there->value, 0),
                      bytes * fmax(round->low / SHARED_BYTES - 1e9 / there->low, 0),
                      bytes * fmax(round->high / SHARED_BYTES - 1e9 / there->high, 0), round->n, 0,
                      bytes / SHARED_BYTES);
}
