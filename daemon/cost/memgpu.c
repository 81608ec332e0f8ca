#include "cost/memgpu.h"

#include <math.h>
#include <string.h>

#include "cost/limits.h"
#include "cost/pairs.h"
#include "cost/policy.h"
#include "node/curve.h"
#include "node/locality.h"
#include "node/spread.h"
#include "node/transfer.h"

#define CANDIDATES   12
#define SHARED_AXES  "bytes=16777216" /* the largest size of shared_write */
#define SHARED_BYTES 16777216.0

/* ---- the value that prices a stream ---- */

/* A value that may tell the rate of a stream. */
struct candidate {
    enum metric metric;
    place_id from, to;
    const char *axes;
    enum source source; /* of the rate, if the value itself is measured */
    enum source most;   /* more doubtful values say nothing of kernels */
};

struct candidates {
    size_t count;
    struct candidate item[CANDIDATES];
};

static void add(struct candidates *list, enum metric metric, place_id from, place_id to,
                const char *axes, enum source source)
{
    list->item[list->count++] =
        (struct candidate){metric, from, to, axes, source, SOURCE_LOWER_BOUND};
}

/* Published rates of copy engines say nothing of kernels, which have all links. */
static void add_measured(struct candidates *list, enum metric metric, place_id from, place_id to,
                         const char *axes, enum source source)
{
    add(list, metric, from, to, axes, source);
    list->item[list->count - 1].most = SOURCE_REVERSE_DIRECTION;
}

static const char *operation(bool is_write)
{
    return is_write ? "operation=write" : "operation=read";
}

/* Of a metric whose default is reading. */
static const char *own_operation(bool is_write) { return is_write ? "operation=write" : ""; }

static enum source source_of(enum source source, const struct value *v)
{
    enum source its = v->source == VALUE_MEASURED    ? SOURCE_MEASURED
                      : v->source == VALUE_PUBLISHED ? SOURCE_PUBLISHED
                                                     : SOURCE_NOMINAL;
    return its > source ? its : source;
}

/* Another gpu of the same model of whose own memory that is known, measured rather than not;
 * PLACE_NONE none. */
static place_id same_model(const struct memgpu *at, enum metric metric, const char *axes)
{
    const struct graph *graph = at->snap->graph;
    const char *model = graph_place(graph, at->gpu)->model;
    place_id found = PLACE_NONE;
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE;
         g = graph_next(graph, PLACE_GPU, g + 1)) {
        const char *its = graph_place(graph, g)->model;
        if (g == at->gpu || model == NULL || its == NULL || strcmp(model, its) != 0)
            continue;
        const struct value *v = values_find(at->snap->values, metric, g, g, axes);
        if (v != NULL && v->value > 0 && (v->source == VALUE_MEASURED || found == PLACE_NONE))
            found = g;
        if (found == g && v->source == VALUE_MEASURED)
            return g;
    }
    return found;
}

static void add_own(const struct memgpu *at, bool is_write, struct candidates *list)
{
    const char *axes = own_operation(is_write);
    place_id gpu = at->gpu, numa = at->node->numa_of[gpu],
             peer = same_model(at, METRIC_MEMORY_BANDWIDTH, axes),
             copies = same_model(at, METRIC_GPU_STREAM, "");
    add(list, METRIC_MEMORY_BANDWIDTH, gpu, gpu, axes, SOURCE_MEASURED);
    add(list, METRIC_GPU_STREAM, gpu, gpu, "", SOURCE_SIMILAR_PAIR);
    if (peer != PLACE_NONE)
        add(list, METRIC_MEMORY_BANDWIDTH, peer, peer, axes, SOURCE_SIMILAR_PAIR);
    if (copies != PLACE_NONE)
        add(list, METRIC_GPU_STREAM, copies, copies, "", SOURCE_SIMILAR_PAIR);
    if (memkind_is_one(at->node, gpu)) /* by firmware: what cores get of it says nothing */
        add(list, METRIC_MEMORY_BANDWIDTH, numa, numa, axes, SOURCE_NOMINAL);
    if (!is_write)
        return;
    add(list, METRIC_MEMORY_BANDWIDTH, gpu, gpu, "", SOURCE_REVERSE_DIRECTION);
    peer = same_model(at, METRIC_MEMORY_BANDWIDTH, "");
    if (peer != PLACE_NONE)
        add(list, METRIC_MEMORY_BANDWIDTH, peer, peer, "", SOURCE_REVERSE_DIRECTION);
}

static void add_peer(place_id gpu, place_id peer, bool is_write, struct candidates *list)
{
    place_id from = is_write ? gpu : peer, to = is_write ? peer : gpu;
    add(list, METRIC_GPU_GPU_KERNEL, gpu, peer, operation(is_write), SOURCE_MEASURED);
    add(list, METRIC_GPU_GPU_KERNEL, gpu, peer, "", SOURCE_SIMILAR_PAIR);
    add_measured(list, METRIC_GPU_GPU_COPY_ENGINE, from, to, "", SOURCE_SIMILAR_PAIR);
    add_measured(list, METRIC_GPU_GPU_KERNEL, peer, gpu, operation(is_write),
                 SOURCE_REVERSE_DIRECTION);
    add_measured(list, METRIC_GPU_GPU_COPY_ENGINE, to, from, "", SOURCE_REVERSE_DIRECTION);
}

static void add_host_kernels(const struct memgpu *at, bool is_write, struct candidates *list)
{
    place_id gpu = at->gpu, numa = at->place.memory, from = is_write ? gpu : numa,
             to = is_write ? numa : gpu;
    enum memkind kind = at->place.kind;
    if (kind == MEMKIND_SYSTEM)
        add(list, METRIC_MEMORY_BANDWIDTH, gpu, numa, own_operation(is_write), SOURCE_MEASURED);
    if (kind == MEMKIND_MANAGED) {
        add(list, METRIC_HOST_GPU_KERNEL, from, to,
            is_write ? "kind=managed;operation=write" : "kind=managed;operation=read",
            SOURCE_MEASURED);
        add(list, METRIC_HOST_GPU_KERNEL, from, to, "kind=managed", SOURCE_SIMILAR_PAIR);
    }
    add(list, METRIC_HOST_GPU_KERNEL, from, to, operation(is_write),
        kind == MEMKIND_MANAGED ? SOURCE_SIMILAR_PAIR : SOURCE_MEASURED);
    add(list, METRIC_HOST_GPU_KERNEL, from, to, "", SOURCE_SIMILAR_PAIR);
    if (kind != MEMKIND_SYSTEM)
        add(list, METRIC_MEMORY_BANDWIDTH, gpu, numa, own_operation(is_write), SOURCE_SIMILAR_PAIR);
}

/* The gpu in whose memory the buffer lies, PLACE_NONE the host's. What the runtime of a gpu gives
 * that has one memory with its processor is that gpu's. */
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

static void list_candidates(const struct memgpu *at, bool is_write, struct candidates *list)
{
    place_id owner = owner_of(at), gpu = at->gpu, numa = at->place.memory;
    if (owner == gpu || (owner != PLACE_NONE && is_one_with(at))) {
        add_own(at, is_write, list);
    } else if (owner != PLACE_NONE) {
        add_peer(gpu, owner, is_write, list);
    } else {
        add_host_kernels(at, is_write, list);
        size_t others = list->count; /* such memory by another name, of another kind */
        place_id peer = memkind_one_of(at->node, numa);
        if (is_one_with(at))
            add_own(at, is_write, list);
        else
            add(list, METRIC_HOST_GPU_COPY_ENGINE, is_write ? gpu : numa, is_write ? numa : gpu, "",
                SOURCE_SIMILAR_PAIR);
        if (peer != PLACE_NONE && !is_one_with(at))
            add_peer(gpu, peer, is_write, list);
        for (; others < list->count; others++)
            if (list->item[others].source == SOURCE_MEASURED)
                list->item[others].source = SOURCE_SIMILAR_PAIR;
    }
}

/* The least doubtful value, the first of those. */
static const struct candidate *find(const struct memgpu *at, const struct candidates *list,
                                    const struct value **ret, enum source *ret_source)
{
    const struct candidate *found = NULL;
    for (size_t i = 0; i < list->count; i++) {
        const struct candidate *its = &list->item[i];
        const struct value *v =
            values_find(at->snap->values, its->metric, its->from, its->to, its->axes);
        bool is_usable = v != NULL && v->value > 0 &&
                         (its->source != SOURCE_NOMINAL || v->source == VALUE_NOMINAL);
        enum source source = is_usable ? source_of(its->source, v) : SOURCE_LOWER_BOUND;
        if (!is_usable || source > its->most || (found != NULL && source >= *ret_source))
            continue;
        found = its;
        *ret = v;
        *ret_source = source;
    }
    return found;
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
                   ? memtime_doubted(time, MEMTIME_SIMILAR, SOURCE_SIMILAR_PAIR)
                   : time;
    return fmin(bytes, at->span) < MOVE_LARGE_BYTES
               ? memtime_doubted(time, MEMTIME_START, SOURCE_NOMINAL)
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

static struct memtime by_value(const struct memgpu *at, const struct candidate *its,
                               const struct value *v, enum source source, double bytes)
{
    const struct curve *curve =
        v->source == VALUE_MEASURED && at->span < MOVE_LARGE_BYTES
            ? curve_find(at->snap->derived.curves, its->metric, its->from, its->to, its->axes)
            : NULL;
    struct memtime time = curve != NULL
                              ? by_curve(at, curve, v, bytes)
                              : by_rate(at, its->metric, v, bytes, bytes / fmin(bytes, at->span));
    bool is_others = its->from == its->to && its->from != at->gpu;
    if (is_others || source == SOURCE_REVERSE_DIRECTION) /* the interval is another's */
        time.below = time.above = NAN;
    memtime_cite(at->basis, v);
    if (its->source > SOURCE_MEASURED)
        time = memtime_doubted(time, MEMTIME_SIMILAR, source);
    time.source = time.source > source ? time.source : source;
    return time;
}

static struct memtime stream(const struct memgpu *at, bool is_write, double bytes);

/* By the links between. Host memory is no faster than the nearest of it in the same kind. */
static struct memtime by_links(const struct memgpu *at, bool is_write, double bytes)
{
    place_id owner = owner_of(at), memory = owner != PLACE_NONE ? owner : at->place.memory,
             nearest = locality_numa(at->snap->graph, at->gpu);
    struct move move;
    if (memory == at->gpu ||
        !plan_pairs_move(at->snap, at->snap->derived.pairs, is_write ? at->gpu : memory,
                         is_write ? memory : at->gpu, MOVE_KERNEL, &move))
        return memtime_unknown();
    double time_ns = bytes / move.bytes_per_s * 1e9;
    if (owner == PLACE_NONE && nearest != PLACE_NONE && nearest != memory) {
        struct memgpu there = *at;
        size_t evidence = at->basis->evidence->count;
        there.place.memory = nearest;
        struct memtime near = stream(&there, is_write, bytes);
        if (near.time_ns >= time_ns)
            return memtime_doubted(near, MEMTIME_LINKS, SOURCE_NOMINAL);
        at->basis->evidence->count = evidence;
    }
    const struct value *most = move.rate != NULL ? move.rate : move.most;
    if (most != NULL)
        memtime_cite(at->basis, most);
    else if (plan_move_cite(at->snap->graph, &move, at->basis->evidence, at->basis->start, NULL) !=
             BERTH_OK)
        at->basis->no_memory = true;
    struct memtime time =
        memtime_doubted(memtime_bare(time_ns, SOURCE_NOMINAL), MEMTIME_LINKS, SOURCE_NOMINAL);
    return fmin(bytes, at->span) < MOVE_LARGE_BYTES
               ? memtime_doubted(time, MEMTIME_START, SOURCE_NOMINAL)
               : time;
}

static struct memtime stream(const struct memgpu *at, bool is_write, double bytes)
{
    struct candidates list = {0};
    const struct value *v;
    enum source source;
    list_candidates(at, is_write, &list);
    const struct candidate *its = find(at, &list, &v, &source);
    return its != NULL ? by_value(at, its, v, source, bytes) : by_links(at, is_write, bytes);
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
            first = memtime_doubted(first, MEMTIME_SIMILAR, SOURCE_SIMILAR_PAIR);
        }
    } else if (is_moving(at)) {
        first = memtime_doubted(first, MEMTIME_MIGRATION, SOURCE_LOWER_BOUND);
    }
    return bytes > 0 ? memtime_sum(stream(at, is_write, bytes), first) : first;
}

struct memtime memgpu_stream(const struct memgpu *at, double read_bytes, double write_bytes)
{
    struct memtime read = stream_from_first(at, false, read_bytes);
    return memtime_sum(read, stream_from_first(at, true, write_bytes));
}

static const struct value *latency_of(const struct memgpu *at, place_id to)
{
    const struct value *v = values_find(at->snap->values, METRIC_MEMORY_LATENCY, at->gpu, to, "");
    place_id peer =
        v == NULL && to == at->gpu ? same_model(at, METRIC_MEMORY_LATENCY, "") : PLACE_NONE;
    if (peer != PLACE_NONE)
        v = values_find(at->snap->values, METRIC_MEMORY_LATENCY, peer, peer, "");
    return v != NULL && v->value > 0 ? v : NULL;
}

struct memtime memgpu_random(const struct memgpu *at, double bytes)
{
    struct candidates own = {0};
    const struct value *rate;
    enum source source;
    place_id owner = owner_of(at), to = owner != PLACE_NONE ? owner : at->place.memory;
    struct memtime time = memgpu_stream(at, bytes, 0);
    const struct value *near = latency_of(at, at->gpu),
                       *far = memgpu_is_own(at) ? near : latency_of(at, to);
    add_own(at, false, &own);
    time.below = time.above = NAN;
    if (isnan(time.time_ns))
        return time;
    if (find(at, &own, &rate, &source) == NULL || near == NULL || far == NULL)
        return memtime_doubted(time, MEMTIME_AS_STREAM, SOURCE_LOWER_BOUND);
    memtime_cite(at->basis, far);
    memtime_cite(at->basis, near);
    memtime_cite(at->basis, rate);
    /* latency times rate is what is in flight: that much each latency */
    time.time_ns = fmax(time.time_ns, bytes / rate->value * 1e9 * (far->value / near->value));
    return memtime_doubted(time, MEMTIME_IN_FLIGHT, source_of(SOURCE_SIMILAR_PAIR, rate));
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
