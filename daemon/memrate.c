#include "memrate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define POINTS_MAX 16

static const struct memrate unknown = {NAN, NAN, NAN};

/* A NUMA node stands beside the places above a core, not among them: count it once. */
static void count_core(const struct graph *graph, place_id c, bool is_inside, const struct accessor *who)
{
    place_id numa = graph_place(graph, c)->numa;
    for (place_id p = c; p != PLACE_NONE; p = graph_place(graph, p)->parent) {
        who->of[p]++;
        who->inside[p] = (uint16_t)(who->inside[p] + is_inside);
        if (p == numa)
            numa = PLACE_NONE;
    }
    if (numa != PLACE_NONE) {
        who->of[numa]++;
        who->inside[numa] = (uint16_t)(who->inside[numa] + is_inside);
    }
}

static void find_holders(const struct graph *graph, struct accessor *who)
{
    for (enum place_kind kind = PLACE_CORE + 1; kind-- > PLACE_MACHINE;)
        for (place_id p = graph_next(graph, kind, 0); p != PLACE_NONE; p = graph_next(graph, kind, p + 1))
            if (who->inside[p] == who->in_all && who->holder_count < MEMRATE_HOLDERS)
                who->holder[who->holder_count++] = p;
    /* An llc can be larger than a NUMA node. */
    for (unsigned i = 1; i < who->holder_count; i++)
        for (unsigned j = i; j > 0 && who->of[who->holder[j - 1]] > who->of[who->holder[j]]; j--) {
            place_id larger = who->holder[j - 1];
            who->holder[j - 1] = who->holder[j];
            who->holder[j] = larger;
        }
}

enum berth_code memrate_cores(const struct graph *graph, const struct cpuset *cpus, struct accessor *ret, struct berth_err *err)
{
    size_t n = graph->place_count;
    uint16_t *inside = calloc(2 * n, sizeof *inside);
    if (inside == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory to count cores");
    struct accessor who = {.inside = inside, .of = inside + n};
    for (place_id c = graph_next(graph, PLACE_CORE, 0); c != PLACE_NONE; c = graph_next(graph, PLACE_CORE, c + 1)) {
        const struct cpuset *core = graph_place(graph, c)->cpus;
        count_core(graph, c, core != NULL && cpuset_intersects(core, cpus), &who);
    }
    who.cores = who.in_all = inside[0];
    if (who.in_all > 0)
        find_holders(graph, &who);
    *ret = who;
    return BERTH_OK;
}

void memrate_done(struct accessor *accessor)
{
    free(accessor->inside);
    accessor->inside = accessor->of = NULL;
}

/* A rate at a number of threads, with the value it comes from. */
struct point {
    double threads;
    const struct value *value;
};

static bool usable(const struct value *v, bool measured_only)
{
    return !isnan(v->value) && v->value > 0 && (v->source == VALUE_MEASURED || !measured_only);
}

/* The points of one initiator and memory in ascending order of threads. */
static size_t points(const struct snapshot *snap, place_id from, double all, place_id memory, const char *how, bool measured_only,
                     struct point *ret)
{
    const struct value *v;
    size_t n = values_range(snap->values, METRIC_MEMORY_BANDWIDTH, from, &v), count = 0;
    for (; n > 0 && v->to <= memory; v++, n--) {
        if (v->to != memory || !usable(v, measured_only))
            continue;
        char text[48];
        const char *axes = values_axes(snap->values, v);
        if (strcmp(axes_get(METRIC_MEMORY_BANDWIDTH, axes, "how", text, sizeof text), how) != 0 ||
            strcmp(axes_get(METRIC_MEMORY_BANDWIDTH, axes, "noise", text, sizeof text), "none") != 0)
            continue;
        axes_get(METRIC_MEMORY_BANDWIDTH, axes, "threads", text, sizeof text);
        double threads = strcmp(text, "all") == 0 ? all : strtod(text, NULL);
        if (!(threads >= 1) || count == POINTS_MAX)
            continue;
        size_t at = count++;
        for (; at > 0 && ret[at - 1].threads > threads; at--)
            ret[at] = ret[at - 1];
        ret[at] = (struct point){threads, v};
    }
    return count;
}

static double between(double a, double b, double share) { return a + (b - a) * share; }

static struct memrate of_value(const struct value *v) { return (struct memrate){v->value, v->low, v->high}; }

enum berth_code memrate_cite(struct memrate_basis *basis, const struct value *v, struct berth_err *err)
{
    if (v->source != VALUE_MEASURED)
        plan_warn(basis->warnings, "not every %s here is measured: why says which are %s", metric_info(v->metric)->name,
                  value_source_name(v->source));
    if (!plan_evidence_add(basis->evidence, basis->start, v))
        return err_set(err, BERTH_NO_MEMORY, "no memory for evidence");
    return BERTH_OK;
}

/* The rate of one initiator with so many threads; NAN when there is none. */
static enum berth_code stream_from(const struct snapshot *snap, place_id from, double threads, double all, place_id memory, const char *how,
                                   bool measured_only, struct memrate_basis *basis, struct memrate *ret, struct berth_err *err)
{
    struct point point[POINTS_MAX];
    size_t count = points(snap, from, all, memory, how, measured_only, point);
    *ret = unknown;
    if (count == 0)
        return BERTH_OK;
    size_t above = 0;
    while (above + 1 < count && point[above].threads < threads)
        above++;
    const struct point *b = &point[above], *a = above > 0 ? b - 1 : NULL;
    *ret = of_value(b->value);
    if (threads < b->threads && a == NULL) {
        plan_warn(basis->warnings, "%s bandwidth of %s was not measured with fewer than %g cores: that figure stands for %g", how,
                  graph_place(snap->graph, from)->name, b->threads, threads);
        ret->low = (isnan(ret->low) ? ret->value : ret->low) * threads / b->threads;
    } else if (threads < b->threads) {
        assert(a != NULL);
        double share = (threads - a->threads) / (b->threads - a->threads);
        *ret = (struct memrate){between(a->value->value, b->value->value, share), between(a->value->low, b->value->low, share),
                                between(a->value->high, b->value->high, share)};
        enum berth_code code = memrate_cite(basis, a->value, err);
        if (code != BERTH_OK)
            return code;
    }
    return memrate_cite(basis, b->value, err);
}

static place_id next_part(const struct snapshot *snap, const struct accessor *who, enum place_kind kind, place_id start)
{
    place_id p = graph_next(snap->graph, kind, start);
    while (p != PLACE_NONE && who->inside[p] == 0)
        p = graph_next(snap->graph, kind, p + 1);
    return p;
}

/* The highest rate that any NUMA node's or package's cores have been seen to get from a memory. */
static const struct value *highest(const struct snapshot *snap, place_id memory, const char *how, bool measured_only)
{
    const struct value *best = NULL;
    const char *axes = strcmp(how, "read") == 0 ? "" : "how=write";
    static const enum place_kind kinds[] = {PLACE_MACHINE, PLACE_PACKAGE, PLACE_NUMA};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (place_id p = graph_next(snap->graph, kinds[k], 0); p != PLACE_NONE; p = graph_next(snap->graph, kinds[k], p + 1)) {
            const struct value *v = values_find(snap->values, METRIC_MEMORY_BANDWIDTH, p, memory, axes);
            if (v != NULL && usable(v, measured_only) && (best == NULL || v->value > best->value))
                best = v;
        }
    return best;
}

static double lower(double a, double b) { return isnan(a) || isnan(b) ? NAN : fmin(a, b); }

/* The cores as several initiators of one kind, each with its share of the bytes. */
static enum berth_code stream_parts(const struct snapshot *snap, const struct accessor *who, enum place_kind kind, place_id memory,
                                    const char *how, bool measured_only, struct memrate_basis *basis, struct memrate *ret,
                                    struct berth_err *err)
{
    struct memrate sum = {INFINITY, INFINITY, INFINITY};
    size_t evidence = basis->evidence->count, warnings = basis->warnings->count;
    unsigned covered = 0;
    double top = 0;
    *ret = unknown;
    for (place_id p = next_part(snap, who, kind, 0); p != PLACE_NONE; p = next_part(snap, who, kind, p + 1)) {
        double share = (double)who->inside[p] / who->in_all;
        struct memrate part;
        enum berth_code code = stream_from(snap, p, share * who->cores, who->of[p], memory, how, measured_only, basis, &part, err);
        if (code != BERTH_OK)
            return code;
        if (isnan(part.value))
            break;
        covered += who->inside[p];
        top = fmax(top, part.value);
        sum = (struct memrate){fmin(sum.value, part.value / share), lower(sum.low, part.low / share), lower(sum.high, part.high / share)};
    }
    if (covered != who->in_all) {
        basis->evidence->count = evidence;
        basis->warnings->count = warnings;
        return BERTH_OK;
    }
    const struct value *best = highest(snap, memory, how, measured_only);
    if (best != NULL && best->value > top) {
        enum berth_code code = memrate_cite(basis, best, err);
        if (code != BERTH_OK)
            return code;
        top = best->value;
    }
    plan_warn(basis->warnings, "how the cores of several %ss share one memory was not measured: taken as at most the highest rate known there",
              place_kind_name(kind));
    /* The memory may give more than any one initiator has been seen to get: high stays. */
    *ret = (struct memrate){fmin(sum.value, top), lower(sum.low, top), sum.high};
    return BERTH_OK;
}

enum berth_code memrate_stream(const struct snapshot *snap, const struct accessor *who, place_id memory, const char *how,
                               struct memrate_basis *basis, struct memrate *ret, struct berth_err *err)
{
    *ret = unknown;
    for (int pass = 0; pass < 2; pass++) {
        bool measured_only = pass == 0;
        for (unsigned i = 0; i < who->holder_count; i++) {
            place_id p = who->holder[i];
            enum berth_code code = stream_from(snap, p, who->cores, who->of[p], memory, how, measured_only, basis, ret, err);
            if (code != BERTH_OK || !isnan(ret->value))
                return code;
        }
        for (enum place_kind kind = PLACE_NUMA; kind <= PLACE_LLC; kind++) {
            enum berth_code code = stream_parts(snap, who, kind, memory, how, measured_only, basis, ret, err);
            if (code != BERTH_OK || !isnan(ret->value))
                return code;
        }
    }
    return BERTH_OK;
}

/* What was measured over the least buffer that is not smaller, else over one far larger than all caches. */
static const struct value *latency_of(const struct snapshot *snap, place_id from, place_id memory, double bytes, bool measured_only)
{
    const struct value *v, *best = NULL;
    size_t n = values_range(snap->values, METRIC_MEMORY_LATENCY, from, &v);
    double least = INFINITY;
    for (; n > 0 && v->to <= memory; v++, n--) {
        char text[48], noise[48];
        const char *axes = values_axes(snap->values, v);
        if (v->to != memory || !usable(v, measured_only) || strcmp(axes_get(METRIC_MEMORY_LATENCY, axes, "noise", noise, sizeof noise), "none") != 0)
            continue;
        axes_get(METRIC_MEMORY_LATENCY, axes, "bytes", text, sizeof text);
        double size = strcmp(text, "memory") == 0 ? INFINITY : strtod(text, NULL);
        if (size >= bytes && (best == NULL || size < least)) {
            best = v;
            least = size;
        }
    }
    return best;
}

/* The mean over the initiators of a kind by their cores; NAN when one has no value. */
static enum berth_code latency_parts(const struct snapshot *snap, const struct accessor *who, enum place_kind kind, place_id memory,
                                     double bytes, bool measured_only, struct memrate_basis *basis, struct memrate *ret, struct berth_err *err)
{
    struct memrate sum = {0};
    unsigned covered = 0;
    size_t evidence = basis->evidence->count, warnings = basis->warnings->count;
    for (place_id p = next_part(snap, who, kind, 0); p != PLACE_NONE; p = next_part(snap, who, kind, p + 1)) {
        const struct value *v = latency_of(snap, p, memory, bytes, measured_only);
        if (v == NULL)
            break;
        enum berth_code code = memrate_cite(basis, v, err);
        if (code != BERTH_OK)
            return code;
        double share = (double)who->inside[p] / who->in_all;
        covered += who->inside[p];
        sum = (struct memrate){sum.value + share * v->value, sum.low + share * v->low, sum.high + share * v->high};
    }
    if (covered == who->in_all) {
        *ret = sum;
    } else {
        basis->evidence->count = evidence;
        basis->warnings->count = warnings;
    }
    return BERTH_OK;
}

enum berth_code memrate_latency_within(const struct snapshot *snap, const struct accessor *who, place_id memory, double bytes, struct memrate_basis *basis,
                                       struct memrate *ret, struct berth_err *err)
{
    *ret = unknown;
    for (int pass = 0; pass < 2; pass++) {
        bool measured_only = pass == 0;
        for (unsigned i = 0; i < who->holder_count; i++) {
            const struct value *v = latency_of(snap, who->holder[i], memory, bytes, measured_only);
            if (v != NULL) {
                *ret = of_value(v);
                return memrate_cite(basis, v, err);
            }
        }
        for (enum place_kind kind = PLACE_NUMA; kind <= PLACE_LLC && isnan(ret->value); kind++) {
            enum berth_code code = latency_parts(snap, who, kind, memory, bytes, measured_only, basis, ret, err);
            if (code != BERTH_OK)
                return code;
        }
        if (!isnan(ret->value))
            return BERTH_OK;
    }
    return BERTH_OK;
}

enum berth_code memrate_latency(const struct snapshot *snap, const struct accessor *who, place_id memory, struct memrate_basis *basis,
                                struct memrate *ret, struct berth_err *err)
{
    return memrate_latency_within(snap, who, memory, INFINITY, basis, ret, err);
}
