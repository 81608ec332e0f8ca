#include "cost/gpurate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cost/gpurate_start.h"
#include "cost/limits.h"
#include "cost/pairs.h"
#include "cost/published_bound.h"
#include "node/curve.h"
#include "node/locality.h"
#include "node/reasons.h"
#include "node/spread.h"

#define LARGE_BYTES  16777216.0 /* from here on a rate of large sizes says all */
#define TRIES        12
#define BACK         "what the other direction gets"
#define READS        "what is known of reading such memory"
#define SHARED_AXES  "bytes=16777216" /* the largest size of shared_write */
#define SHARED_BYTES 16777216.0

/* A series that may tell a rate, best first. */
struct
try {
    enum metric metric;
    place_id from, to;
    const char *axes;
    const char *stands_for; /* NULL: it is what is asked for; else the warning's words */
    bool is_stated;         /* only what firmware says of it */
    bool is_measured;       /* only what was measured */
};

struct tries {
    size_t count;
    struct try item[TRIES];
};

static void add(struct tries *tries, enum metric metric, place_id from, place_id to,
                const char *axes, const char *stands_for)
{
    tries->item[tries->count++] = (struct try){metric, from, to, axes, stands_for, false, false};
}

static bool is_read(const char *how) { return strcmp(how, "read") == 0; }

static bool is_alike(const struct place *a, const struct place *b)
{
    return a->model != NULL && b->model != NULL && strcmp(a->model, b->model) == 0;
}

static const struct value *known(const struct snapshot *snap, enum metric metric, place_id gpu,
                                 const char *axes)
{
    const struct value *v = values_find(snap->values, metric, gpu, gpu, axes);
    return v != NULL && v->value > 0 ? v : NULL;
}

/* Another gpu of the same model of whose own memory that is known, measured rather than not;
 * PLACE_NONE none. */
static place_id alike(const struct gpurate *at, enum metric metric, const char *axes)
{
    const struct graph *graph = at->snap->graph;
    place_id found = PLACE_NONE;
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE;
         g = graph_next(graph, PLACE_GPU, g + 1)) {
        const struct value *v =
            g != at->gpu && is_alike(graph_place(graph, g), graph_place(graph, at->gpu))
                ? known(at->snap, metric, g, axes)
                : NULL;
        if (v != NULL && v->source == VALUE_MEASURED)
            return g;
        found = v != NULL && found == PLACE_NONE ? g : found;
    }
    return found;
}

static void own_tries(const struct gpurate *at, const char *how, struct tries *tries)
{
    const char *axes = is_read(how) ? "" : "operation=write";
    const struct value *rate = known(at->snap, METRIC_MEMORY_BANDWIDTH, at->gpu, axes),
                       *copy = known(at->snap, METRIC_GPU_STREAM, at->gpu, "");
    add(tries, METRIC_MEMORY_BANDWIDTH, at->gpu, at->gpu, axes, NULL);
    add(tries, METRIC_GPU_STREAM, at->gpu, at->gpu, "", "what streaming copies get");
    if ((rate != NULL && rate->source == VALUE_MEASURED) ||
        (copy != NULL && copy->source == VALUE_MEASURED))
        return;
    place_id like = alike(at, METRIC_MEMORY_BANDWIDTH, axes),
             copies = alike(at, METRIC_GPU_STREAM, "");
    if (like != PLACE_NONE)
        add(tries, METRIC_MEMORY_BANDWIDTH, like, like, axes,
            "what a gpu of the same model gets of its own");
    if (copies != PLACE_NONE)
        add(tries, METRIC_GPU_STREAM, copies, copies, "",
            "what streaming copies of a gpu of the same model get");
    place_id numa = at->node->numa_of[at->gpu];
    if (memkind_is_one(at->node, at->gpu)) {
        add(tries, METRIC_MEMORY_BANDWIDTH, numa, numa, axes, "what firmware says of that memory");
        tries->item[tries->count - 1].is_stated = true;
    }
    if (is_read(how))
        return;
    add(tries, METRIC_MEMORY_BANDWIDTH, at->gpu, at->gpu, "", READS);
    like = alike(at, METRIC_MEMORY_BANDWIDTH, "");
    if (like != PLACE_NONE)
        add(tries, METRIC_MEMORY_BANDWIDTH, like, like, "", READS);
}

/* Published rates of copy engines say nothing of kernels, which have all links: those go by the
 * links then, as for Route. */
static void peer_tries(place_id gpu, place_id peer, const char *how, struct tries *tries)
{
    add(tries, METRIC_GPU_GPU_KERNEL, gpu, peer,
        is_read(how) ? "operation=read" : "operation=write", NULL);
    add(tries, METRIC_GPU_GPU_KERNEL, gpu, peer, "", "what copies by kernels get");
    add(tries, METRIC_GPU_GPU_COPY_ENGINE, is_read(how) ? peer : gpu, is_read(how) ? gpu : peer, "",
        "what copy engines get");
    tries->item[tries->count - 1].is_measured = true;
    add(tries, METRIC_GPU_GPU_KERNEL, peer, gpu,
        is_read(how) ? "operation=read" : "operation=write", BACK);
    tries->item[tries->count - 1].is_measured = true;
    add(tries, METRIC_GPU_GPU_COPY_ENGINE, is_read(how) ? gpu : peer, is_read(how) ? peer : gpu, "",
        BACK);
    tries->item[tries->count - 1].is_measured = true;
}

static void host_kernel_tries(place_id gpu, place_id numa, enum memkind kind, const char *how,
                              struct tries *tries)
{
    place_id from = is_read(how) ? numa : gpu, to = is_read(how) ? gpu : numa;
    if (kind == MEMKIND_SYSTEM)
        add(tries, METRIC_MEMORY_BANDWIDTH, gpu, numa, is_read(how) ? "" : "operation=write", NULL);
    if (kind == MEMKIND_MANAGED) {
        add(tries, METRIC_HOST_GPU_KERNEL, from, to,
            is_read(how) ? "kind=managed;operation=read" : "kind=managed;operation=write", NULL);
        add(tries, METRIC_HOST_GPU_KERNEL, from, to, "kind=managed", "what copies by kernels get");
    }
    add(tries, METRIC_HOST_GPU_KERNEL, from, to,
        is_read(how) ? "operation=read" : "operation=write",
        kind == MEMKIND_MANAGED ? "what they get of pinned memory" : NULL);
    add(tries, METRIC_HOST_GPU_KERNEL, from, to, "", "what copies by kernels get");
    if (kind != MEMKIND_SYSTEM)
        add(tries, METRIC_MEMORY_BANDWIDTH, gpu, numa, is_read(how) ? "" : "operation=write",
            "what they get of ordinary memory");
}

/* The host's memory, and where it is one with another gpu's, that gpu's. */
static void host_tries(const struct gpurate *at, place_id numa, const char *how,
                       struct tries *tries)
{
    place_id gpu = at->gpu, other = memkind_one_of(at->node, numa);
    host_kernel_tries(gpu, numa, at->place->kind, how, tries);
    add(tries, METRIC_HOST_GPU_COPY_ENGINE, is_read(how) ? numa : gpu, is_read(how) ? gpu : numa,
        "", "what copy engines get");
    if (other != PLACE_NONE)
        peer_tries(gpu, other, how, tries);
}

/* The gpu in whose memory it lies, PLACE_NONE the host's. Of a processor and gpu that have one
 * memory, what a gpu's runtime gives is its. */
static place_id owner_of(const struct gpurate *at)
{
    return at->place->kind == MEMKIND_DEVICE ? at->place->gpu
                                             : memkind_owner(at->node, at->place->memory);
}

/* Whether a processor's memory is the gpu's as well. */
static bool is_one_with(const struct gpurate *at, place_id gpu)
{
    return memkind_is_one(at->node, gpu) &&
           memkind_numa(at->node, at->place->memory) == at->node->numa_of[gpu];
}

bool gpurate_is_own(const struct gpurate *at)
{
    bool moves = at->place->kind == MEMKIND_MANAGED && at->place->memory == at->place->gpu;
    return !moves && (owner_of(at) == at->gpu || is_one_with(at, at->gpu));
}

static int goes_first(enum value_source source)
{
    return source == VALUE_MEASURED ? 2 : source == VALUE_PUBLISHED ? 1 : 0;
}

/* What was measured, else what was published, else what is stated; the first of those. */
static const struct try *find(const struct gpurate *at, const struct tries *tries,
                              const struct value **ret)
{
    const struct try *said = NULL;
    for (size_t i = 0; i < tries->count; i++) {
        const struct try *try = &tries->item[i];
        const struct value *v =
            values_find(at->snap->values, try->metric, try->from, try->to, try->axes);
        if (v == NULL || !(v->value > 0) || (try->is_stated && v->source != VALUE_NOMINAL) ||
            (try->is_measured && v->source != VALUE_MEASURED) ||
            (said != NULL && goes_first(v->source) <= goes_first((*ret)->source)))
            continue;
        *ret = v;
        said = try;
    }
    return said;
}

/* Whether kernels are so short that starting them matters, of which nothing is known. */
static bool lacks_start(const struct gpurate *at, enum metric metric, double bytes)
{
    return fmin(bytes, at->span) < LARGE_BYTES && !(gpurate_start_of(at, metric).ns > 0);
}

/* How far one repetition is from the next, of the transfers that a value is one of; 0 not known. */
static double deviation_of(const struct gpurate *at, enum metric metric)
{
    const struct limits *limits = at->snap->derived.limits;
    if (metric == METRIC_MEMORY_BANDWIDTH || metric == METRIC_GPU_STREAM)
        return limits->own[metric == METRIC_GPU_STREAM];
    const struct agreement *alike = agreement_of(limits->agree, transfer_kind_of(metric));
    return alike != NULL ? alike->one : 0;
}

/* At a rate, begun rounds times. */
static struct memtime by_rate(const struct gpurate *at, enum metric metric, const struct value *v,
                              double bytes, double rounds)
{
    struct gpurate_start start = gpurate_start_of(at, metric);
    double off = rounds * start.off_ns, time_ns = bytes / v->value * 1e9 + rounds * start.ns;
    /* What starting it takes is no less off from one time to the next than the rest. */
    struct memtime time =
        memtime_of(time_ns, time_ns * (v->value / v->high), time_ns * (v->value / v->low), v->n,
                   deviation_of(at, metric), rounds);
    time.below += off * off;
    time.above += off * off;
    return time;
}

static const struct curve *curve_of(const struct gpurate *at, const struct try *try,
                                    const struct value *v)
{
    const struct curves *curves =
        v->source == VALUE_MEASURED && at->span < LARGE_BYTES ? at->snap->derived.curves : NULL;
    return curves != NULL ? curve_find(curves, try->metric, try->from, try->to, try->axes) : NULL;
}

/* Bytes in as many goes around the buffer as it takes. The curve's shape, the interval of the rate.
 * Where all sizes of a curve were timed many at once, which evens out what each does, it is the
 * others of the kind that tell how far one is from the next. */
static struct memtime time_of(const struct gpurate *at, const struct try *try,
                              const struct value *v, double bytes)
{
    const struct curve *curve = curve_of(at, try, v);
    double once = fmin(bytes, at->span), rounds = bytes / once;
    if (curve == NULL)
        return by_rate(at, try->metric, v, bytes, rounds);
    double time_ns = rounds * curve_time_ns(curve, once), half = fmin(curve->fit.residual, 1);
    double spread =
        fmax(curve_fit_spread_mean(&curve->fit, once, rounds),
             spread_one(deviation_of(at, try->metric) / sqrt(fmax(rounds, 1)), 0, v->n, 2));
    return memtime_within(time_ns, time_ns * (v->value / v->high) * (1 - half),
                          time_ns * (v->value / v->low) * (1 + half), spread);
}

static void list(const struct gpurate *at, const char *how, struct tries *tries)
{
    place_id owner = owner_of(at);
    if (owner == at->gpu || (owner != PLACE_NONE && is_one_with(at, at->gpu))) {
        own_tries(at, how, tries);
    } else if (owner != PLACE_NONE) {
        peer_tries(at->gpu, owner, how, tries);
    } else if (is_one_with(at, at->gpu)) {
        host_kernel_tries(at->gpu, at->place->memory, at->place->kind, how, tries);
        own_tries(at, how, tries);
    } else {
        host_tries(at, at->place->memory, how, tries);
    }
}

/* How long it takes where the memory is that NUMA node's, got in the same way; NAN where nothing is
 * known. */
static double known_ns(const struct gpurate *at, place_id numa, const char *how, double bytes,
                       const struct value **ret)
{
    struct memkind_place place = *at->place;
    struct gpurate there = *at;
    struct tries tries = {0};
    place.memory = numa;
    there.place = &place;
    if (memkind_owner(at->node, numa) != PLACE_NONE)
        return NAN;
    list(&there, how, &tries);
    const struct try *try = find(&there, &tries, ret);
    return try != NULL ? time_of(&there, try, *ret, bytes).time_ns : NAN;
}

/* What the gpu is known to get of the nearest host memory, else the most that it is known to get of
 * any; NAN nothing is. */
static double find_least_ns(const struct gpurate *at, place_id nearest, const char *how,
                            double bytes, const struct value **ret)
{
    const struct graph *graph = at->snap->graph;
    const struct value *v = NULL;
    double least = nearest != PLACE_NONE ? known_ns(at, nearest, how, bytes, ret) : NAN;
    if (!isnan(least))
        return least;
    for (place_id n = graph_next(graph, PLACE_NUMA, 0); n != PLACE_NONE;
         n = graph_next(graph, PLACE_NUMA, n + 1)) {
        double time_ns = known_ns(at, n, how, bytes, &v);
        if (isnan(time_ns) || (!isnan(least) && time_ns >= least))
            continue;
        least = time_ns;
        *ret = v;
    }
    return least;
}

/* The same, looked for once. */
static double least_ns(const struct gpurate *at, place_id nearest, const char *how, double bytes,
                       const struct value **ret)
{
    struct gpurate_memo *memo = at->memo;
    const struct gpurate_least asked = {
        .gpu = at->gpu, .kind = at->place->kind, .is_read = is_read(how), .bytes = bytes};
    for (size_t i = 0; i < memo->least_count; i++) {
        const struct gpurate_least *its = &memo->least[i];
        if (its->gpu != asked.gpu || its->kind != asked.kind || its->is_read != asked.is_read ||
            its->bytes != asked.bytes)
            continue;
        *ret = its->value;
        return its->time_ns;
    }
    struct gpurate_least *its =
        &memo->least[memo->least_count < GPURATE_LEAST ? memo->least_count++ : 0];
    *its = asked;
    its->time_ns = find_least_ns(at, nearest, how, bytes, &its->value);
    *ret = its->value;
    return its->time_ns;
}

/* By the links between, which are said to carry so much. Of host memory in no less than what is
 * known of such takes, and not faster than the nearest. */
static enum berth_code nominal(const struct gpurate *at, const struct try *like, const char *how,
                               double bytes, struct memrate_basis *basis, struct memtime *ret,
                               struct berth_err *err)
{
    struct move move;
    const struct value *known_rate = NULL;
    place_id nearest = locality_numa(at->snap->graph, at->gpu);
    const struct plan_pairs *pairs = at->snap->derived.pairs;
    *ret = memtime_unknown();
    if (like->from == like->to ||
        !plan_pairs_move(at->snap, pairs, like->from, like->to, MOVE_KERNEL, &move))
        return BERTH_OK;
    const struct value *most = move.rate != NULL ? move.rate : move.most;
    double rate = move.bytes_per_s, least = NAN;
    if (owner_of(at) == PLACE_NONE) {
        least = least_ns(at, nearest, how, bytes, &known_rate);
        bool to_gpu = like->to == at->gpu;
        if (isnan(least) && nearest != PLACE_NONE &&
            plan_pairs_move(at->snap, pairs, to_gpu ? nearest : at->gpu, to_gpu ? at->gpu : nearest,
                            MOVE_KERNEL, &move) &&
            move.bytes_per_s < rate) {
            rate = move.bytes_per_s;
            most = move.rate != NULL ? move.rate : move.most;
        }
    }
    *ret = memtime_bare(bytes / rate * 1e9);
    if (least > ret->time_ns) {
        ret->time_ns = least;
        most = known_rate;
    }
    const struct value *bound = published_bound_access(
        at->snap, at->gpu, like->from == at->gpu ? like->to : like->from, how);
    if (bound != NULL && bytes / bound->value * 1e9 >= ret->time_ns) {
        ret->time_ns = bytes / bound->value * 1e9;
        most = bound;
    }
    basis->is_ceiling = true;
    basis->floor |= lacks_start(at, METRIC_HOST_GPU_KERNEL, bytes) ||
                            (most != known_rate && fmin(bytes, at->span) < LARGE_BYTES)
                        ? MEMRATE_FLOOR_START
                        : 0;
    basis->by_links = basis->by_links || most == NULL;
    basis->by_least = basis->by_least || most != NULL;
    return most != NULL
               ? memrate_cite(basis, most, err)
               : plan_move_cite(at->snap->graph, &move, basis->evidence, basis->start, err);
}

/* Once for an answer: sentences cost more than what they are about. */
static void warn_of(const struct gpurate *at, const char *how, const char *stands_for,
                    struct memrate_basis *basis)
{
    struct gpurate_memo *memo = at->memo;
    for (size_t i = 0; i < memo->said_count; i++)
        if (memo->said[i].gpu == at->gpu && memo->said[i].is_read == is_read(how) &&
            memo->said[i].stands_for == stands_for)
            return;
    reasons_note(
        basis->warnings,
        "how fast kernels of %s %s was not measured of every memory: %s stands for it (evidence)",
        graph_place(at->snap->graph, at->gpu)->name, how, stands_for);
    if (memo->said_count < GPURATE_SAID)
        memo->said[memo->said_count++] =
            (struct gpurate_said){at->gpu, is_read(how), stands_for, basis->warnings->count - 1};
}

void gpurate_forget(struct gpurate_memo *memo, size_t warnings)
{
    size_t kept = 0;
    for (size_t i = 0; i < memo->said_count; i++)
        if (memo->said[i].line < warnings)
            memo->said[kept++] = memo->said[i];
    memo->said_count = kept;
}

/* What is asked for, and not what is known of the other direction. */
static const struct try *last_of(const struct tries *tries)
{
    size_t last = tries->count - 1;
    while (last > 0 && tries->item[last].stands_for != NULL &&
           strcmp(tries->item[last].stands_for, BACK) == 0)
        last--;
    return &tries->item[last];
}

static enum berth_code by_tries(const struct gpurate *at, const struct tries *tries,
                                const char *how, double bytes, struct memrate_basis *basis,
                                struct memtime *ret, struct berth_err *err)
{
    const struct value *v;
    const struct try *try = find(at, tries, &v);
    *ret = memtime_unknown();
    if (bytes == 0) {
        *ret = (struct memtime){0};
        return BERTH_OK;
    }
    if (try == NULL)
        return nominal(at, last_of(tries), how, bytes, basis, ret, err);
    if (try->stands_for != NULL)
        warn_of(at, how, try->stands_for, basis);
    *ret = time_of(at, try, v, bytes);
    basis->by_other = basis->by_other || try->stands_for != NULL;
    basis->other_start_ns += curve_of(at, try, v) == NULL ? bytes / fmin(bytes, at->span) *
                                                                gpurate_start_of(at, try->metric).ns
                                                          : 0;
    if ((try->from == try->to && try->from != at->gpu) ||
        (try->stands_for != NULL &&
         (strcmp(try->stands_for, READS) == 0 || strcmp(try->stands_for, BACK) == 0)))
        *ret = memtime_bare(ret->time_ns); /* the interval is another one's */
    basis->floor |= curve_of(at, try, v) == NULL && lacks_start(at, try->metric, bytes)
                        ? MEMRATE_FLOOR_START
                        : 0;
    basis->is_ceiling |= v->source == VALUE_NOMINAL;
    return memrate_cite(basis, v, err);
}

static const struct value *touch_of(const struct gpurate *at, const char *how, place_id numa)
{
    static const char *const axes[2][2][2] = {
        {{"kind=system;operation=write", "kind=system;operation=write;xnack=on"},
         {"kind=migrating;operation=write", "kind=migrating;operation=write;xnack=on"}},
        {{"kind=system;operation=read", "kind=system;operation=read;xnack=on"},
         {"kind=migrating;operation=read", "kind=migrating;operation=read;xnack=on"}}};
    const char *its = axes[is_read(how)][at->place->kind == MEMKIND_MANAGED][at->xnack];
    const struct value *v =
        values_find(at->snap->values, METRIC_HOST_GPU_KERNEL, is_read(how) ? numa : at->gpu,
                    is_read(how) ? at->gpu : numa, its);
    return v != NULL && v->value > 0 ? v : NULL;
}

/* What touching memory for the first time was measured as: ordinary memory wherever the host has
 * it, and managed memory that goes to the gpu. That of the nearest NUMA node stands for the
 * others', else the quickest that is known of any, so that none looks better for want of a
 * measurement. */
static const struct value *first_of(const struct gpurate *at, const char *how)
{
    const struct graph *graph = at->snap->graph;
    const struct value *any;
    if (values_range(at->snap->values, METRIC_HOST_GPU_KERNEL, PLACE_NONE, &any) == 0)
        return NULL;
    bool is_managed = at->place->kind == MEMKIND_MANAGED;
    place_id nearest = locality_numa(graph, at->gpu),
             numa = is_managed ? nearest : at->place->memory;
    if (numa == PLACE_NONE || (!is_managed && at->place->kind != MEMKIND_SYSTEM))
        return NULL;
    const struct value *v = touch_of(at, how, numa);
    if (is_managed || v != NULL)
        return v;
    v = nearest != PLACE_NONE ? touch_of(at, how, nearest) : NULL;
    bool is_near = v != NULL;
    for (place_id n = graph_next(graph, PLACE_NUMA, 0); n != PLACE_NONE && !is_near;
         n = graph_next(graph, PLACE_NUMA, n + 1)) {
        const struct value *other = touch_of(at, how, n);
        v = other != NULL && (v == NULL || other->value > v->value) ? other : v;
    }
    return v;
}

enum berth_code gpurate_stream(const struct gpurate *at, const char *how, double bytes,
                               struct memrate_basis *basis, struct memtime *ret,
                               struct berth_err *err)
{
    struct tries tries = {0};
    struct memtime first = {0};
    bool moves = at->place->kind == MEMKIND_MANAGED && owner_of(at) == at->gpu &&
                 memkind_numa(at->node, at->place->memory) == PLACE_NONE;
    bool is_fresh = at->place->kind == MEMKIND_SYSTEM && owner_of(at) == PLACE_NONE;
    const struct value *touch = moves || is_fresh ? first_of(at, how) : NULL;
    *ret = first;
    if (bytes == 0)
        return BERTH_OK;
    basis->floor |= moves && touch == NULL ? MEMRATE_FLOOR_MOVES : 0;
    if (touch != NULL) {
        double once = fmin(bytes, at->span);
        bool is_there = moves || touch->from == at->place->memory || touch->to == at->place->memory;
        first = by_rate(at, touch->metric, touch, once, 1);
        basis->other_start_ns += gpurate_start_of(at, touch->metric).ns;
        basis->floor |= lacks_start(at, touch->metric, once) ? MEMRATE_FLOOR_START : 0;
        if (!is_there) {
            first = memtime_bare(first.time_ns); /* the interval is another memory's */
            reasons_note(
                basis->warnings,
                "what it costs when %s touches memory for the first time was not measured of every "
                "memory: that of %s stands for it (evidence)",
                graph_place(at->snap->graph, at->gpu)->name,
                graph_place(at->snap->graph, touch->from == at->gpu ? touch->to : touch->from)
                    ->name);
        }
        bytes -= once;
        enum berth_code code = memrate_cite(basis, touch, err);
        if (code != BERTH_OK)
            return code;
    }
    list(at, how, &tries);
    enum berth_code code = by_tries(at, &tries, how, bytes, basis, ret, err);
    if (code == BERTH_OK)
        *ret = memtime_sum(*ret, first);
    return code;
}

static const struct value *latency_of(const struct gpurate *at, place_id to)
{
    const struct value *v = values_find(at->snap->values, METRIC_MEMORY_LATENCY, at->gpu, to, "");
    place_id like = v == NULL && to == at->gpu ? alike(at, METRIC_MEMORY_LATENCY, "") : PLACE_NONE;
    if (like != PLACE_NONE)
        v = known(at->snap, METRIC_MEMORY_LATENCY, like, "");
    return v != NULL && v->value > 0 ? v : NULL;
}

enum berth_code gpurate_random(const struct gpurate *at, double loads, double line_bytes,
                               struct memrate_basis *basis, struct memtime *ret,
                               struct berth_err *err)
{
    struct tries own = {0};
    const struct value *rate, *near, *far;
    place_id owner = owner_of(at), to = owner != PLACE_NONE ? owner : at->place->memory;
    struct memtime streamed;
    own_tries(at, "read", &own);
    near = latency_of(at, at->gpu);
    far = latency_of(at, to);
    far = far == NULL && gpurate_is_own(at) ? near : far;
    enum berth_code code = gpurate_stream(at, "read", loads * line_bytes, basis, &streamed, err);
    *ret = memtime_bare(streamed.time_ns);
    if (code != BERTH_OK || isnan(streamed.time_ns))
        return code;
    if (find(at, &own, &rate) == NULL || near == NULL || far == NULL) {
        basis->floor |= MEMRATE_FLOOR_RANDOM; /* no random access is faster than a stream */
        return BERTH_OK;
    }
    code = memrate_cite(basis, far, err);
    if (code == BERTH_OK)
        code = memrate_cite(basis, near, err);
    if (code == BERTH_OK)
        code = memrate_cite(basis, rate, err);
    if (code != BERTH_OK)
        return code;
    reasons_note(basis->warnings, "how many random accesses a gpu has under way at once was not "
                                  "measured: counted as many as when it streams its own memory");
    double under_way = rate->value * 1e-9 * near->value / line_bytes;
    *ret = memtime_bare(fmax(streamed.time_ns, loads * far->value / under_way));
    return BERTH_OK;
}

/* A round of shared_write takes the pages to the host and back; the way there is known. */
enum berth_code gpurate_return(const struct gpurate *at, double bytes, struct memrate_basis *basis,
                               struct memtime *ret, struct berth_err *err)
{
    place_id numa = locality_numa(at->snap->graph, at->gpu);
    const struct value *round =
        numa != PLACE_NONE
            ? values_find(at->snap->values, METRIC_SHARED_WRITE, at->gpu, numa, SHARED_AXES)
            : NULL;
    const struct value *there = first_of(at, "write");
    *ret = memtime_unknown();
    if (round == NULL || there == NULL)
        return BERTH_OK;
    double back_ns = fmax(round->value / SHARED_BYTES - 1e9 / there->value, 0);
    *ret =
        memtime_of(bytes * back_ns, bytes * fmax(round->low / SHARED_BYTES - 1e9 / there->low, 0),
                   bytes * fmax(round->high / SHARED_BYTES - 1e9 / there->high, 0), round->n, 0,
                   bytes / SHARED_BYTES);
    enum berth_code code = memrate_cite(basis, round, err);
    return code == BERTH_OK ? memrate_cite(basis, there, err) : code;
}
