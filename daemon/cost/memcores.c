#include "cost/memcores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/matrix.h"
#include "node/locality.h"

/* No access takes as long: longer streams need no look at latencies. */
#define ACCESS_MOST_NS 1e4

/* Places that may have all cores, the nearest first. */
static const enum place_kind holders[] = {PLACE_CORE, PLACE_LLC, PLACE_NUMA, PLACE_PACKAGE,
                                          PLACE_MACHINE};
#define HOLDERS (sizeof holders / sizeof *holders)

/* Values that count: those of a later pass where an earlier one finds none. */
enum pass { PASS_MEASURED, PASS_ANY, PASS_LINKS, PASSES };

static const struct memcores_value unknown = {.value = NAN, .low = NAN, .high = NAN};

/* ---- cores ---- */

/* A NUMA node stands beside the places above a core, not among them: count it once. */
static void count_core(const struct graph *graph, place_id c, bool is_inside,
                       const struct memcores *who)
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

enum berth_code memcores_init(const struct graph *graph, const struct cpuset *cpus,
                              struct memcores *ret, struct berth_err *err)
{
    size_t n = graph->place_count;
    uint16_t *inside = calloc(n, 2 * sizeof *inside);
    if (inside == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory to count cores");
    struct memcores who = {.inside = inside, .of = inside + n};
    for (place_id c = graph_next(graph, PLACE_CORE, 0); c != PLACE_NONE;
         c = graph_next(graph, PLACE_CORE, c + 1)) {
        const struct cpuset *its = graph_place(graph, c)->cpus;
        count_core(graph, c, its != NULL && cpuset_intersects(its, cpus), &who);
    }
    who.cores = who.in_all = who.inside[0];
    *ret = who;
    return BERTH_OK;
}

void memcores_done(struct memcores *cores)
{
    free(cores->inside);
    cores->inside = cores->of = NULL;
}

/* ---- rates ---- */

static const char *axes_of(bool is_write) { return is_write ? "operation=write" : ""; }

static bool usable(const struct value *v, enum pass pass)
{
    return v->value > 0 && (v->source == VALUE_MEASURED || pass > PASS_MEASURED);
}

static struct memcores_value of_value(const struct value *v)
{
    return (struct memcores_value){v->value, v->low, v->high, v->n, estimate_source(v), 0};
}

static uint32_t fewer(uint32_t a, uint32_t b) { return a < b ? a : b; }
static double lower(double a, double b) { return isnan(a) || isnan(b) ? NAN : fmin(a, b); }
static double between(double a, double b, double share) { return a + (b - a) * share; }

static void doubt(struct memcores_value *value, enum reason_code doubt, enum source source)
{
    value->doubts |= MEMTIME_DOUBT(doubt);
    value->source = estimate_worse(value->source, source);
}

/* The number of cores by canonical axes of a bandwidth, which are read often; 0 where it is of
 * another operation, or disturbed. */
static double cores_of(const char *axes, bool is_write, double all)
{
    size_t length = is_write ? strlen("operation=write") : 0;
    if (strncmp(axes, axes_of(is_write), length) != 0)
        return 0;
    axes += length + (axes[length] == ';');
    if (*axes == '\0')
        return all;
    if (strncmp(axes, "threads=", 8) != 0)
        return 0;
    char *end;
    double cores = strtod(axes + 8, &end);
    return *end == '\0' ? cores : 0;
}

/* The rate of so many cores of one place. */
static struct memcores_value rate_from(const struct memcores_access *access, place_id from,
                                       double threads, bool is_write, enum pass pass)
{
    const struct value *v, *below = NULL, *above = NULL;
    double low = 0, high = INFINITY, t;
    size_t n =
        values_range_to(access->snap->values, METRIC_MEMORY_BANDWIDTH, from, access->memory, &v);
    for (; n > 0; v++, n--) {
        t = usable(v, pass)
                ? cores_of(values_axes(access->snap->values, v), is_write, access->who->of[from])
                : 0;
        if (t >= threads && t < high) {
            above = v;
            high = t;
        } else if (t < threads && t > low) {
            below = v;
            low = t;
        }
    }
    const struct value *nearest = above != NULL ? above : below;
    if (nearest == NULL)
        return unknown;
    struct memcores_value found = of_value(nearest);
    if (found.source == SOURCE_NOMINAL)
        doubt(&found, REASON_PEAK_RATE, SOURCE_NOMINAL);
    if (above != NULL && below != NULL && high > threads) {
        double share = (threads - low) / (high - low);
        found.value = between(below->value, above->value, share);
        found.low = between(below->low, above->low, share);
        found.high = between(below->high, above->high, share);
        found.n = fewer(below->n, above->n);
        memtime_cite(access->basis, below);
    } else if (above != NULL && high > threads) {
        doubt(&found, REASON_RATE_OF_MORE_CORES, SOURCE_NOMINAL);
    }
    memtime_cite(access->basis, above != NULL ? above : below);
    return found;
}

/* The next place of a kind that has some of the cores, at or after start. */
static place_id next_part(const struct memcores_access *access, enum place_kind kind,
                          place_id start)
{
    place_id p = graph_next(access->snap->graph, kind, start);
    while (p != PLACE_NONE && access->who->inside[p] == 0)
        p = graph_next(access->snap->graph, kind, p + 1);
    return p;
}

/* The place of a kind that has all cores; PLACE_NONE none. */
static place_id holder_of(const struct memcores_access *access, enum place_kind kind)
{
    place_id p = next_part(access, kind, 0);
    return p != PLACE_NONE && access->who->inside[p] == access->who->in_all ? p : PLACE_NONE;
}

/* The rate of a NUMA node's cores over links between packages that have one memory with their gpus
 * (MI300A): those are stated as their gpus', and carry the cores' accesses as well. */
static struct memcores_value rate_over_links(const struct memcores_access *access, place_id numa,
                                             bool is_write)
{
    place_id there = memkind_one_of(access->node, access->memory),
             here = memkind_one_of(access->node, numa);
    const struct matrix_item *item =
        there == PLACE_NONE || here == PLACE_NONE
            ? NULL
            : matrix_find(access->snap->derived.matrix, is_write ? here : there,
                          is_write ? there : here, MECHANISM_KERNEL);
    if (item == NULL)
        return unknown;
    memtime_cite_transfer(access->basis, &item->alone);
    return (struct memcores_value){item->alone.bytes_per_s,
                                   NAN,
                                   NAN,
                                   0,
                                   SOURCE_NOMINAL,
                                   MEMTIME_DOUBT(REASON_ACCESS_BY_LINKS)};
}

/* The cores as several places of one kind, each with its share of the bytes. */
static struct memcores_value rate_of_parts(const struct memcores_access *access,
                                           enum place_kind kind, bool is_write, enum pass pass)
{
    const struct memcores *who = access->who;
    struct memcores_value sum = {INFINITY, INFINITY, INFINITY, UINT32_MAX, SOURCE_MEASURED, 0};
    size_t evidence = access->basis->evidence->count;
    unsigned covered = 0, parts = 0;
    double top = 0;
    for (place_id p = next_part(access, kind, 0); p != PLACE_NONE;
         p = next_part(access, kind, p + 1)) {
        double share = (double)who->inside[p] / who->in_all;
        struct memcores_value part = rate_from(access, p, share * who->cores, is_write, pass);
        if (isnan(part.value) && kind == PLACE_NUMA && pass == PASS_LINKS)
            part = rate_over_links(access, p, is_write);
        if (isnan(part.value))
            break;
        covered += who->inside[p];
        parts++;
        top = fmax(top, part.value);
        sum = (struct memcores_value){
            fmin(sum.value, part.value / share),     lower(sum.low, part.low / share),
            lower(sum.high, part.high / share),      fewer(sum.n, part.n),
            estimate_worse(sum.source, part.source), sum.doubts | part.doubts};
    }
    if (covered != who->in_all) {
        access->basis->evidence->count = evidence;
        return unknown;
    }
    if (parts == 1)
        return sum;
    /* The memory may give more than one place gets of it: high stays. */
    sum.value = fmin(sum.value, top);
    sum.low = lower(sum.low, top);
    doubt(&sum, REASON_SHARED_MEMORY, SOURCE_MEASURED);
    return sum;
}

/* Bounds the rate by that of cores in the memory's package, and by a published bound. */
static struct memcores_value bound(const struct memcores_access *access, bool is_write)
{
    const struct graph *graph = access->snap->graph;
    place_id package = locality_above(graph, access->memory, PLACE_PACKAGE);
    const struct value *v, *most = NULL;
    size_t n = values_range(access->snap->values, METRIC_MEMORY_BANDWIDTH, PLACE_NONE, &v);
    for (; n > 0 && package != PLACE_NONE; v++, n--)
        if (v->to == access->memory && usable(v, PASS_ANY) &&
            (most == NULL || v->value > most->value) &&
            graph_place(graph, v->from)->kind <= PLACE_CORE &&
            locality_above(graph, v->from, PLACE_PACKAGE) == package &&
            strcmp(values_axes(access->snap->values, v), axes_of(is_write)) == 0)
            most = v;
    for (size_t i = 0; i < HOLDERS; i++) {
        place_id p = holder_of(access, holders[i]);
        v = p != PLACE_NONE ? matrix_access_bound(access->snap, p, access->memory, !is_write)
                            : NULL;
        most = v != NULL && (most == NULL || v->value < most->value) ? v : most;
    }
    if (most == NULL)
        return unknown;
    memtime_cite(access->basis, most);
    return (struct memcores_value){
        most->value, NAN, NAN, 0, SOURCE_LOWER_BOUND, MEMTIME_DOUBT(REASON_RATE_OF_NEAR_CORES)};
}

static struct memcores_value rate_of_places(const struct memcores_access *access, bool is_write)
{
    struct memcores_value rate = unknown;
    for (enum pass pass = 0; pass < PASSES && isnan(rate.value); pass++) {
        for (size_t i = 0; i < HOLDERS && isnan(rate.value); i++)
            if (holder_of(access, holders[i]) != PLACE_NONE)
                rate = rate_from(access, holder_of(access, holders[i]), access->who->cores,
                                 is_write, pass);
        for (enum place_kind kind = PLACE_NUMA; kind <= PLACE_LLC && isnan(rate.value); kind++)
            rate = rate_of_parts(access, kind, is_write, pass);
    }
    return rate;
}

struct memcores_value memcores_rate(const struct memcores_access *access, bool is_write)
{
    struct memcores_value rate = rate_of_places(access, is_write);
    /* A published figure of memory that is a gpu's as well is that memory's peak. */
    if (!isnan(rate.value) && isnan(rate.low) &&
        memkind_one_of(access->node, access->memory) != PLACE_NONE)
        doubt(&rate, REASON_PEAK_RATE, SOURCE_NOMINAL);
    return isnan(rate.value) ? bound(access, is_write) : rate;
}

/* ---- latencies ---- */

/* Over the smallest buffer that has span bytes, of values without noise. */
static const struct value *latency_from(const struct memcores_access *access, place_id from,
                                        double span, enum pass pass)
{
    const struct value *v, *best = NULL;
    size_t n =
        values_range_to(access->snap->values, METRIC_MEMORY_LATENCY, from, access->memory, &v);
    double least = INFINITY;
    for (; n > 0; v++, n--) {
        char *end = "";
        const char *axes = values_axes(access->snap->values, v);
        double size = strncmp(axes, "bytes=", 6) == 0 ? strtod(axes + 6, &end) : INFINITY;
        bool is_plain = isinf(size) ? *axes == '\0' : *end == '\0';
        if (usable(v, pass) && is_plain && size >= span && (best == NULL || size < least)) {
            best = v;
            least = size;
        }
    }
    return best;
}

/* The mean over the places of a kind by their cores. */
static struct memcores_value latency_of_parts(const struct memcores_access *access,
                                              enum place_kind kind, double span, enum pass pass)
{
    const struct memcores *who = access->who;
    struct memcores_value sum = {.n = UINT32_MAX};
    size_t evidence = access->basis->evidence->count;
    unsigned covered = 0;
    for (place_id p = next_part(access, kind, 0); p != PLACE_NONE;
         p = next_part(access, kind, p + 1)) {
        const struct value *v = latency_from(access, p, span, pass);
        if (v == NULL)
            break;
        memtime_cite(access->basis, v);
        double share = (double)who->inside[p] / who->in_all;
        covered += who->inside[p];
        sum = (struct memcores_value){sum.value + share * v->value,
                                      sum.low + share * v->low,
                                      sum.high + share * v->high,
                                      fewer(sum.n, v->n),
                                      estimate_worse(sum.source, estimate_source(v)),
                                      0};
    }
    if (covered == who->in_all)
        return sum;
    access->basis->evidence->count = evidence;
    return unknown;
}

struct memcores_value memcores_latency(const struct memcores_access *access, double span)
{
    struct memcores_value found = unknown;
    for (enum pass pass = 0; pass < PASS_LINKS && isnan(found.value); pass++) {
        for (size_t i = 0; i < HOLDERS && isnan(found.value); i++)
            if (holder_of(access, holders[i]) != PLACE_NONE)
                found = latency_of_parts(access, holders[i], span, pass);
        for (enum place_kind kind = PLACE_NUMA; kind <= PLACE_LLC && isnan(found.value); kind++)
            found = latency_of_parts(access, kind, span, pass);
    }
    return found;
}

/* ---- times ---- */

/* No stream, of however few bytes, takes less than one access to that memory. */
static struct memtime at_least_one_access(const struct memcores_access *access, struct memtime time)
{
    size_t evidence = access->basis->evidence->count;
    if (!(time.time_ns < ACCESS_MOST_NS) || time.time_ns == 0)
        return time;
    struct memcores_value latency = memcores_latency(access, INFINITY);
    if (latency.value > time.time_ns) { /* the stream may come on top */
        struct memtime one =
            memtime_of(latency.value, latency.low, latency.high + time.time_ns + sqrt(time.above),
                       latency.n, 0, 1);
        one.source = estimate_worse(time.source, latency.source);
        one.doubts = time.doubts;
        return one;
    }
    access->basis->evidence->count = evidence;
    if (isnan(latency.value) && time.time_ns < MEMTIME_SHORT_NS)
        return memtime_doubted(time, REASON_START_NOT_COUNTED, SOURCE_NOMINAL);
    return time;
}

struct memtime memcores_stream(const struct memcores_access *access, double read_bytes,
                               double write_bytes)
{
    const double bytes[2] = {read_bytes, write_bytes};
    struct memtime total = {0};
    for (int is_write = 0; is_write < 2 && !isnan(total.time_ns); is_write++) {
        if (bytes[is_write] == 0)
            continue;
        struct memcores_value rate = memcores_rate(access, is_write);
        double ns = bytes[is_write] * 1e9;
        struct memtime time = memtime_of(ns / rate.value, ns / rate.high, ns / rate.low, rate.n, 0,
                                         bytes[is_write] / access->span);
        time.source = rate.source;
        time.doubts = rate.doubts;
        total = memtime_sum(total, time);
    }
    return at_least_one_access(access, total);
}

struct memtime memcores_random(const struct memcores_access *access, double read_bytes,
                               double write_bytes)
{
    double loads = ceil((read_bytes + write_bytes) / MEMCORES_LINE_BYTES / access->who->cores);
    struct memcores_value latency = memcores_latency(access, access->span);
    if (isnan(latency.value))
        return memtime_doubted(memcores_stream(access, read_bytes, write_bytes),
                               REASON_RANDOM_AS_STREAM, SOURCE_LOWER_BOUND);
    struct memtime time = memtime_of(loads * latency.value, loads * latency.low,
                                     loads * latency.high, latency.n, 0, 1);
    /* a stated latency is no bound of accesses one after the other */
    time.source = latency.source < SOURCE_PUBLISHED ? latency.source : SOURCE_PUBLISHED;
    return memtime_doubted(time, REASON_RANDOM_IN_FLIGHT, SOURCE_SIMILAR_PAIR);
}
